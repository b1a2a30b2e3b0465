// geometry/inner.h: a box or an ellipse inside the hull of points, by the bounds of a sieve. The includer has REAL, BINS and
// geometry/sieve.h.
//
//   box       |dx| < half_width and |dy| < half_height, with the distances from the centre
//   ellipse   (dx * across)^2 + (dy * up)^2 < 1
//
// The centre of integers is relative to the frame's origin.
//
// Proof. In units of the frame, the corners of a polygon around the shape are within the bounds of their bins, so their hull
// is strictly inside. Corners are off by less than 2^-21 of the frame's extents: by 2^-14 of the shape's reach, which is at
// least LEAST_REACH. A shape whose reach is 2^-13 less is in the hull of these corners. MARGIN covers this and the rounding
// of both tests.

#define CORNERS 64                  // of the polygon around an ellipse
#define LEAST_REACH 0x1p-6f
#define MARGIN (1 - 0x1p-12f)
typedef struct { scale_t x, y, half_width, half_height, across, up; int is_box; } inner_t;
// Its centre in units of the frame, and its reach in halves of the frame's extents.
typedef struct { float2 centre; float reach; int is_box; } reach_t;

// cos((2 k + 1) pi / CORNERS) / cos(pi / CORNERS): a quarter of the polygon, by a table because a CPU takes long for cosines.
constant float ACROSS[CORNERS / 4] = {
    1.0f, 0.990369439f, 0.971201122f, 0.942679584f, 0.905079484f, 0.858763039f, 0.804176211f, 0.741844714f,
    0.672368824f, 0.596417725f, 0.514722764f, 0.428070724f, 0.337296128f, 0.243273214f, 0.146907434f, 0.0491268486f};

// Corner k of the polygon around a shape of reach 1.
inline float2 around(int is_box, uint k)
{
    if (is_box)
        return (float2)(k & 1 ? 1 : -1, k & 2 ? 1 : -1);
    const uint quarter = CORNERS / 4;
    const float2 at = (float2)(ACROSS[k % quarter], ACROSS[quarter - 1 - k % quarter]);
    return (k & quarter ? (float2)(-at.y, at.x) : at) * (k & 2 * quarter ? -1.0f : 1.0f);
}

// Whether a shape is inside the bounds.
inline int is_inside(const reach_t shape, global const float2 *bounds)
{
    for (uint k = 0; k < (shape.is_box ? 4 : CORNERS); ++k) {
        const float2 at = shape.centre + shape.reach * (float2)(BINS / 2, 0.5f) * around(shape.is_box, k);
        if (!(at.x >= 0 && at.x < BINS && at.y > bounds[(uint)at.x].x && at.y < bounds[(uint)at.x].y))
            return 0;
    }
    return 1;
}

// The largest shape inside the bounds around a centre. Its reach is 0 if it is too small.
inline reach_t reach_of(float2 centre, int is_box, global const float2 *bounds)
{
    reach_t shape = {centre, 0, is_box};
    for (float step = 0.5f; step > LEAST_REACH / 16; step /= 2) {
        const reach_t wider = {centre, shape.reach + step, is_box};
        if (is_inside(wider, bounds))
            shape = wider;
    }
    if (shape.reach < LEAST_REACH)
        shape.reach = 0;
    return shape;
}

// Whether a point, in units of the frame, is in a shape.
inline int reaches(const reach_t shape, float2 at)
{
    const float2 d = fabs(at - shape.centre) * (float2)(2.0f / BINS, 2);
    return shape.is_box ? max(d.x, d.y) < shape.reach : d.x * d.x + d.y * d.y < shape.reach * shape.reach;
}

