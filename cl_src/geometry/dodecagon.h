// geometry/dodecagon.h: a polygon of twelve sides in the hull of points, symmetric about a centre. The includer has REAL,
// float or double, and geometry/sieve.h.
//
//   half_width, half_height   most distances in x and in y of points inside
//   slope, sum                with distances dx, dy of a point inside: slope.x * dx + dy < sum.x, dx + slope.y * dy < sum.y
//
// Proof. Take twelve directions around, less than half a turn from one to the next, and any twelve points, the k-th one for
// the directions k and k + 1. A point that in every direction is less far than both points of that direction is strictly
// inside the hull of the twelve: otherwise all of them were no farther than it in some direction; that is between two of the
// twelve, or is one of them, and so their common point would be no farther than it in one of both, which it is not. Here the
// directions are (1, 0), (slope.x, 1), (1, slope.y), (0, 1) and their mirror images, in this order as slope.x * slope.y is
// 3 up to rounding. The least distances of the points from the centre are those of the polygon.
// Rounding: a difference from the centre is rounded once, and monotone, as distances of the twelve points are. Products and
// sums of positive numbers are off by less than 2^-21 of slope * width + rise, those of the twelve points as well, and by
// flushed subnormals, which are far less than 2^-17 of these extents (LEAST in geometry/sieve.h). MARGIN covers both.
// Distances that are NaN or infinite are never less than a number.

#define SIDES 12
#define MARGIN ((real_t)0x1p-16f)
typedef struct { real_t x, y, half_width, half_height; point_t slope, sum; } dodecagon_t;
typedef struct { point_t far[SIDES]; float reach[SIDES]; } farthest_t;   // 15 + 30 * k degrees from the x-axis

inline farthest_t no_farthest(void)
{
    farthest_t none;
    for (uint k = 0; k < SIDES; ++k) {
        none.far[k] = (point_t)(0, 0);
        none.reach[k] = -INFINITY;
    }
    return none;
}

// Adds a point with coordinates (x, y) relative to the extents of all. Rounding may choose another point.
inline void farthest_take(farthest_t *outer, float x, float y, point_t p)
{
    const float cos15 = 0.9659258f, sin15 = 0.25881904f, cos45 = 0.70710677f;
    const float reached[SIDES / 2] = {cos15 * x + sin15 * y,  cos45 * x + cos45 * y,  sin15 * x + cos15 * y,
                                      -sin15 * x + cos15 * y, -cos45 * x + cos45 * y, -cos15 * x + sin15 * y};
    for (uint k = 0; k < SIDES; ++k) {
        const float reach = k < SIDES / 2 ? reached[k] : -reached[k - SIDES / 2];
        if (reach > outer->reach[k]) {
            outer->reach[k] = reach;
            outer->far[k] = p;
        }
    }
}

// The lesser distance of points `a` and `b` from the centre in a direction.
inline real_t lesser(const farthest_t *outer, const dodecagon_t *inner, uint a, uint b, real_t across, real_t up)
{
    const real_t first = across * (outer->far[a].x - inner->x) + up * (outer->far[a].y - inner->y);
    const real_t second = across * (outer->far[b].x - inner->x) + up * (outer->far[b].y - inner->y);
    return first < second ? first : second;
}

// The polygon between the farthest points, for the extents of all. It is empty if it would be too narrow for rounding.
inline dodecagon_t dodecagon_between(const farthest_t *outer, real_t width, real_t rise)
{
    dodecagon_t inner = {0, 0, 0, 0, (point_t)(0, 0), (point_t)(0, 0)};
    const point_t slope = (point_t)((real_t)1.7320508f * rise / width, (real_t)1.7320508f * width / rise);
    if (!(LEAST < slope.x && slope.x < MOST && LEAST < slope.y && slope.y < MOST))
        return inner;
    point_t low = outer->far[6], high = outer->far[0];
    low.x = outer->far[5].x > low.x ? outer->far[5].x : low.x;
    low.y = outer->far[8].y > outer->far[9].y ? outer->far[8].y : outer->far[9].y;
    high.x = outer->far[11].x < high.x ? outer->far[11].x : high.x;
    high.y = outer->far[2].y < outer->far[3].y ? outer->far[2].y : outer->far[3].y;
    inner.x = low.x / 2 + high.x / 2;
    inner.y = low.y / 2 + high.y / 2;
    inner.half_width = min(high.x - inner.x, inner.x - low.x);
    inner.half_height = min(high.y - inner.y, inner.y - low.y);
    inner.slope = slope;
    point_t sum;
    sum.x = min(min(lesser(outer, &inner, 0, 1, slope.x, 1), lesser(outer, &inner, 4, 5, -slope.x, 1)),
                min(lesser(outer, &inner, 6, 7, -slope.x, -1), lesser(outer, &inner, 10, 11, slope.x, -1)));
    sum.y = min(min(lesser(outer, &inner, 1, 2, 1, slope.y), lesser(outer, &inner, 3, 4, -1, slope.y)),
                min(lesser(outer, &inner, 7, 8, -1, -slope.y), lesser(outer, &inner, 9, 10, 1, -slope.y)));
    inner.sum.x = sum.x - MARGIN * (slope.x * width + rise);
    inner.sum.y = sum.y - MARGIN * (slope.y * rise + width);
    return inner;
}
