// hood/tile_bounds.h: bounds between which points are certainly inside the hull of a tile, by one work-item. The includer
// has geometry/sieve.h, for points that are no integers geometry/dodecagon.h, hood/hood_tile.h and tile_t.

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
    const frame_t frame = {left, low, 0, 0, 0, 0, usable ? BINS / width : 0, usable ? 1 / rise : 0};
    return frame;
}

// The bounds of all bins, and the frame with its box or, after it, the polygon in the hull.
inline void item_bounds(const tile_t tile, uint lower, uint upper, global frame_t *frame_found, global float2 *bounds)
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
#if defined(CLGEOM_COORD_int)
    diagonals_t outer = no_diagonals();
#else
    farthest_t outer = no_farthest();
#endif
    for (uint k = 0; k < (usable ? lower + upper : 0); ++k) {
        const uint at = tile.hoods[k < lower ? k : TILE + k - lower];
        const float x = scaled(tile.x[at], frame.left, frame.across) / BINS, y = scaled(tile.y[at], frame.low, frame.up);
#if defined(CLGEOM_COORD_int)
        diagonals_take(&outer, x, y, TILE_POINT(tile, at));
#else
        farthest_take(&outer, x, y, TILE_POINT(tile, at));
#endif
    }
#if defined(CLGEOM_COORD_int)
    if (usable) {
        const box_t box = box_between(&outer);
        frame.box_left = box.left;
        frame.box_right = box.right;
        frame.box_bottom = box.bottom;
        frame.box_top = box.top;
    }
#else
    global dodecagon_t *const inner = (global dodecagon_t *)(frame_found + 1);
    *inner = dodecagon_between(&outer, usable ? BINS / frame.across : 0, usable ? 1 / frame.up : 0);
#endif
    *frame_found = frame;
}
