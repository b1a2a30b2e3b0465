// hood/hood.h: predicates for merging hoods. The includer has geometry/orient2d.h and KEEP_COLLINEAR: 1 when points on an
// edge count as corners.
//
// A hood is the lower (side 0) or upper (side 1) half of a convex hull, from left to right. Points are in lexicographic
// order, which is the order of x after an infinitesimal shear; shears preserve orientations, so equal x are no special case.
// All functions are described for lower hoods; for upper ones the plane is reflected.

// Above 0 when c is above the line a -> b (below it for an upper hood), 0 on it. It has no branch on `side`, for which
// compilers would duplicate the loops that call it.
inline int hood_turn(uint side, point_t a, point_t b, point_t c)
{
    return orient2d(a.x, a.y, b.x, b.y, c.x, c.y) * (1 - 2 * (int)side);
}

// A chain a, b, c keeps its middle point.
#if KEEP_COLLINEAR
#define IS_CORNER(turn) ((turn) >= 0)
#else
#define IS_CORNER(turn) ((turn) > 0)
#endif

// The common tangent of a hood P and a hood Q to its right touches the first corner of P whose successor is not
// BEYOND_P, seen along the tangent from the corner to Q; that tangent touches the first corner of Q whose successor is
// not BEYOND_Q. Of collinear corners it touches the outer ones, or the inner ones with KEEP_COLLINEAR.
#if KEEP_COLLINEAR
#define BEYOND_P(turn) ((turn) <= 0)
#define BEYOND_Q(turn) ((turn) < 0)
#else
#define BEYOND_P(turn) ((turn) < 0)
#define BEYOND_Q(turn) ((turn) <= 0)
#endif
