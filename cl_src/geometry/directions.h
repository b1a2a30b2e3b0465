// geometry/directions.h: helpers to find extreme points in many directions. The includer has REAL.
//
// Directions are evenly spaced after an affine map that gives a sample equal variance in all of them, so that a flat or
// slanted cloud shows as many of its corners as a round one. Directions only choose points; exact tests decide about these,
// so no result depends on rounding here. Direction 0 is that of x, and with an even number of directions the middle one is
// opposite.

#include "geometry/points.h"

typedef struct { real_t x, y; float across, up, slant; } affine_t;

// A corner of a polygon, and the outward normal and the length of the edge after it, both after the map.
typedef struct { real_t x, y; float out_x, out_y, length; uint row; } cap_t;

// The difference of two points, rounded.
#if defined(CLGEOM_COORD_int)
#define OFFSET(from, to) ((float)((long)(to) - (long)(from)))
#else
#define OFFSET(from, to) ((float)((to) - (from)))
#endif

// The difference of two points after the map.
inline float2 way(const affine_t map, real_t from_x, real_t from_y, real_t to_x, real_t to_y)
{
    const float along = OFFSET(from_x, to_x) * map.across;
    return (float2)(along, OFFSET(from_y, to_y) * map.up - along * map.slant);
}

inline float2 mapped(const affine_t map, point_t p)
{
    return way(map, map.x, map.y, p.x, p.y);
}

inline float2 direction(uint k, uint of)
{
    return (float2)(cospi(2.0f * k / of), sinpi(2.0f * k / of));
}

// A projection as an integer of the same order. NaN is the least.
inline uint ordered(float far)
{
    const uint bits = as_uint(far);
    return far == far ? bits ^ (bits >> 31 ? 0xffffffffu : 0x80000000u) : 0;
}

// The last corner of a polygon that is right of the line from corner 0 to a point, as far as floating point can tell: the
// point is left of the line to it and right of the line to the next. Offsets are from corner 0. Of corners equal to corner
// 0 the first count as right of all points, the last as left.
inline uint fan_index(local const float2 *fan, uint corners, float2 to)
{
    uint index = 0, end = corners;
    while (index + 1 < end) {
        const uint mid = (index + end) / 2;
        const float2 side = fan[mid];
        const int same = side.x == 0 && side.y == 0 && mid < corners / 2;
        if (same || side.x * to.y - side.y * to.x > 0)
            index = mid;
        else
            end = mid;
    }
    return index;
}
