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

// Corner k of the polygon around a shape of reach 1.
inline float2 around(int is_box, uint k)
{
    if (is_box)
        return (float2)(k & 1 ? 1 : -1, k & 2 ? 1 : -1);
    const float angle = (2 * k + 1) * (float)(M_PI_F / CORNERS), out = 1.0012058f;     // 1 / cos(pi / CORNERS)
    return (float2)(out * cos(angle), out * sin(angle));
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

