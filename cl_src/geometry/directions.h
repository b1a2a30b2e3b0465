// geometry/directions.h: what finding extreme points in many directions needs. The includer has REAL.
//
// Directions are evenly spaced after an affine map that spreads a sample alike in all of them: a cloud that is flat or
// slanted shows as many of its corners as a round one. Directions only choose points, which others prove things with: no
// result depends on how anything here is rounded. Direction 0 is that of x, and with an even number of them the middle
// one is opposite.

#include "geometry/points.h"

typedef struct { real_t x, y; float across, up, slant; } affine_t;

// A corner of a polygon and the edge after it: the direction out of that and its length, both on the map.
typedef struct { real_t x, y; float out_x, out_y, length; uint row; } cap_t;

// From one point to another, about.
#if defined(CLGEOM_COORD_int)
#define OFFSET(from, to) ((float)((long)(to) - (long)(from)))
#else
#define OFFSET(from, to) ((float)((to) - (from)))
#endif

// The way from one point to another, on the map.
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

// How far, as a number that orders like it. NaN is nowhere.
inline uint ordered(float far)
{
    const uint bits = as_uint(far);
    return far == far ? bits ^ (bits >> 31 ? 0xffffffffu : 0x80000000u) : 0;
}

// The last corner of a polygon that is right of the way from corner 0 to a point, as far as floating point can tell: the
// point is left of it and right of the next. Offsets from corner 0. Of corners equal to corner 0 the first count as right
// of all points, the last ones as left.
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
