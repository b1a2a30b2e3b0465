// geometry/sieve.h: a table of bounds between which points are certainly inside a hull, and coordinates in its units. The
// includer has REAL and BINS.
//
//   bounds[b]   (L, U): a point in bin b whose height is above L and below U is strictly inside the hull
//   frame       the origin and the scale of bins and heights
//
// Proof. Let X~ = (x - left) * across and Y~ = (y - low) * up in real arithmetic, with across and up as they are stored: an
// affine map, which keeps hulls. The scaled X of a point in the frame is off by at most 3 roundings, less than 2^-11 of a
// bin for 2048 bins and by 2^-22 in Y; a flushed subnormal adds less, as the extent of the frame is not tiny. So where
// X is in bin b, X~ is in [b - PAD / 4, b + 1 + PAD / 4]. The vertices' scaled coordinates are off as much, so at any X~ the
// real chain, a path of segments between input points, is at most 2^-22 below the scaled chain at some X' that is no
// farther than PAD / 4 away; in [b - PAD, b + 1 + PAD] the hull's own chain, which is concave, is nowhere lower than at
// both ends, and there no lower than any path between its points. SLACK covers the errors of Y on both sides and the
// interpolation. A point strictly between two points of the hull on a vertical line that has points of the hull on either
// side is strictly inside.
//
// The first and the last bin are always empty, so that the ends of the frame need not be exact: points left of the frame,
// and NaN, are in the first bin, points right of it in the last one, and are kept. So a point with an x of NaN or infinity
// is kept, and one with such a y, which is never between two numbers. All nonfinite points are therefore among those that
// the sieve keeps, and it reports them.

#include "geometry/points.h"

#define NOTHING 1e30f
#define PAD 0x1p-9f
#define SLACK 0x1p-17f
#if defined(CLGEOM_COORD_double)
typedef double scale_t;
#define LEAST 1e-270
#define MOST 1e270
#else
typedef float scale_t;
#define LEAST 1e-25f
#define MOST 1e25f
#endif
typedef struct { real_t left, low; scale_t across, up; } frame_t;

// A coordinate in units of the frame, monotone; below 0 before the origin.
inline float scaled(real_t value, real_t origin, scale_t scale)
{
#if defined(CLGEOM_COORD_int)
    return value < origin ? -1.0f : (float)((uint)value - (uint)origin) * scale;
#else
    return (float)((value - origin) * scale);
#endif
}

// The bin of an x. NaN is in the first one.
inline uint bin_of(const frame_t frame, real_t px)
{
    float x = scaled(px, frame.left, frame.across);
    x = x > 0 ? x : 0;
    return x < BINS - 1 ? (int)x : BINS - 1;
}

// The bounds of a bin, from the heights of a lower and an upper chain on the bin's padded sides; NOTHING if there is none.
inline float2 bin_bounds(uint bin, float lower_a, float lower_b, float upper_a, float upper_b)
{
    if (bin == 0 || bin == BINS - 1)
        return (float2)(NOTHING, -NOTHING);
    return (float2)(fmax(lower_a, lower_b) + SLACK, fmin(upper_a, upper_b) - SLACK);
}

// The height of the line from a to b at x, or `none` beyond its ends and for NaN.
inline float line_height(float2 a, float2 b, float at, float none)
{
    if (!(a.x <= at && at <= b.x && a.x < b.x))
        return none;
    const float height = a.y + (b.y - a.y) * ((at - a.x) / (b.x - a.x));
    return height == height ? height : none;
}
