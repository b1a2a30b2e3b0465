// hood/tile_bounds.h: bounds between which points are certainly inside the hull of a tile, by one work-item. The includer
// has geometry/sieve.h, geometry/inner.h, hood/hood_tile.h, PROBES and tile_t.

// A hood in units of the frame: indices of its corners.
typedef struct { local const ushort *corners; uint count; frame_t frame; } scaled_hood_t;

inline float2 scaled_corner(const tile_t tile, const scaled_hood_t *hood, uint k)
{
    const uint at = hood->corners[k];
    return (float2)(scaled(tile.x[at], hood->frame.left, hood->frame.across),
                    scaled(tile.y[at], hood->frame.low, hood->frame.up));
}

// A segment of a hood, from corner `first` to the next one.
typedef struct { uint first; float2 from, to; } segment_t;

inline segment_t first_segment(const tile_t tile, const scaled_hood_t *hood)
{
    const segment_t segment = {0, scaled_corner(tile, hood, 0), scaled_corner(tile, hood, 1)};
    return segment;
}

// The height of a hood at x, or `none` beyond its ends. `segment` is that of an x that is not greater, and becomes that of x.
inline float hood_height(const tile_t tile, const scaled_hood_t *hood, segment_t *segment, float x, float none)
{
    while (segment->first + 2 < hood->count && segment->to.x <= x) {
        ++segment->first;
        segment->from = segment->to;
        segment->to = scaled_corner(tile, hood, segment->first + 1);
    }
    return line_height(segment->from, segment->to, x, none);
}

// The frame of hoods: bins from the leftmost corner to the rightmost, heights from the lowest to the highest. `across` is 0
// if there is no frame.
inline frame_t item_frame(const tile_t tile, uint lower, uint upper)
{
    local const ushort *low_hood = tile.hoods, *high_hood = tile.hoods + TILE;
    const uint leftmost = lower ? low_hood[0] : 0, rightmost = lower ? low_hood[lower - 1] : 0;
    const real_t left = tile.x[leftmost], right = tile.x[rightmost];
    real_t low = tile.y[leftmost], high = low;
    for (uint k = 0; k < lower; ++k)
        low = tile.y[low_hood[k]] < low ? tile.y[low_hood[k]] : low;
    for (uint k = 0; k < upper; ++k)
        high = tile.y[high_hood[k]] > high ? tile.y[high_hood[k]] : high;
#if defined(CLGEOM_COORD_int)
    const scale_t width = (uint)right - (uint)left, rise = (uint)high - (uint)low;
#else
    const scale_t width = right - left, rise = high - low;
#endif
    const int usable = lower > 1 && upper > 1 && LEAST < width && width < MOST && LEAST < rise && rise < MOST;
    const frame_t frame = {left, low, usable ? BINS / width : 0, usable ? 1 / rise : 0};
    return frame;
}

// The middle one of PROBES values in order; NaN is the least.
inline float item_median(const float *values)
{
    float sorted[PROBES];
    for (uint i = 0; i < PROBES; ++i) {
        uint k = i;
        for (; k > 0 && !(sorted[k - 1] <= values[i]); --k)
            sorted[k] = sorted[k - 1];
        sorted[k] = values[i];
    }
    return sorted[PROBES / 2];
}

// The box or the ellipse in the hull that has most of the PROBES rows that are `stride` apart, around the middle of the frame
// or the middle of these rows.
inline inner_t item_inner(const frame_t frame, global const float2 *bounds, global const real_t *points, ulong stride)
{
    inner_t inner = {0, 0, 0, 0, 0, 0, 1};
    if (frame.across == 0)
        return inner;
    float xs[PROBES], ys[PROBES];
    for (uint k = 0; k < PROBES; ++k) {
        xs[k] = scaled(points[2 * k * stride], frame.left, frame.across);
        ys[k] = scaled(points[2 * k * stride + 1], frame.low, frame.up);
    }
    const scale_t width = BINS / frame.across, rise = 1 / frame.up;
    uint most = 0;
    for (uint shape = 0; shape < 4 && most < PROBES; ++shape) {
        const float2 middle = shape < 2 ? (float2)(BINS / 2, 0.5f) : (float2)(item_median(xs), item_median(ys));
#if defined(CLGEOM_COORD_int)
        const scale_t x = middle.x / frame.across, y = middle.y / frame.up;
        const float2 centre = (float2)(x * frame.across, y * frame.up);
#else
        const scale_t x = frame.left + middle.x / frame.across, y = frame.low + middle.y / frame.up;
        const float2 centre = (float2)(scaled(x, frame.left, frame.across), scaled(y, frame.low, frame.up));
#endif
        const reach_t found = reach_of(centre, shape & 1, bounds);
        uint held = 0;
        for (uint k = 0; k < PROBES; ++k)
            held += reaches(found, (float2)(xs[k], ys[k]));
        if (held <= most)
            continue;
        most = held;
        inner.x = x;
        inner.y = y;
        inner.half_width = MARGIN * found.reach / 2 * width;
        inner.half_height = MARGIN * found.reach / 2 * rise;
        inner.across = 1 / inner.half_width;
        inner.up = 1 / inner.half_height;
        inner.is_box = found.is_box;
    }
    return inner;
}

// The bounds of all bins, the frame, and after it a shape in the hull.
inline void item_bounds(const tile_t tile, uint lower, uint upper, global const real_t *points, ulong stride,
                        global frame_t *frame_found, global float2 *bounds)
{
    frame_t frame = item_frame(tile, lower, upper);
    const int usable = frame.across != 0;
    const scaled_hood_t below = {tile.hoods, lower, frame}, above = {tile.hoods + TILE, upper, frame};
    for (uint bin = 0; bin < (usable ? 0 : BINS); ++bin)
        bounds[bin] = (float2)(NOTHING, -NOTHING);
    if (usable) {
        segment_t below_a = first_segment(tile, &below), below_b = below_a;
        segment_t above_a = first_segment(tile, &above), above_b = above_a;
        for (uint bin = 0; bin < BINS; ++bin) {
            const float a = bin - PAD, b = bin + 1 + PAD;
            bounds[bin] = bin_bounds(bin, hood_height(tile, &below, &below_a, a, NOTHING),
                                     hood_height(tile, &below, &below_b, b, NOTHING),
                                     hood_height(tile, &above, &above_a, a, -NOTHING),
                                     hood_height(tile, &above, &above_b, b, -NOTHING));
        }
    }
    *(global inner_t *)(frame_found + 1) = item_inner(frame, bounds, points, stride);
    *frame_found = frame;
}
