// hood/hood.h: predicates for merging hoods. The includer has geometry/orient2d.h and KEEP_COLLINEAR: 1 when points on an
// edge count as corners.
//
// A hood is the lower (side 0) or upper (side 1) half of a convex hull, from left to right. Points are in lexicographic
// order, which is that of x after a shear too small to matter; shears keep orientations, so equal x need no care.
// Everything is said for lower hoods; for upper ones the plane is turned over.

// Above 0 when c is above the line a -> b (below it for an upper hood), 0 on it. Without a branch on `side`: compilers
// write the loops that it is in twice, one for each side.
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
// not BEYOND_Q. Of corners on one line the outer ones are touched, or the inner ones when all are kept.
#if KEEP_COLLINEAR
#define BEYOND_P(turn) ((turn) <= 0)
#define BEYOND_Q(turn) ((turn) < 0)
#else
#define BEYOND_P(turn) ((turn) < 0)
#define BEYOND_Q(turn) ((turn) <= 0)
#endif
