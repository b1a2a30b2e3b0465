// arc/arc_doubt.h: orientations and crossings, decided exactly (EXACT 1), or by a filter alone that sets `doubt` where it
// cannot decide (0, float only). The includer has geometry/orient2d.h, real_t, point_t, arc/arc_crossing.h and EXACT.
//
// Without the exact stages work-items need fewer registers, so that occupancy is higher. The functions are for lower sides;
// upper sides are reflected.

// Above 0 when c is above the line a -> b.
inline real_t item_turn(point_t a, point_t b, point_t c, int *doubt)
{
#if EXACT
    return orient2d(a.x, a.y, b.x, b.y, c.x, c.y);
#else
    const real_t left = (a.x - c.x) * (b.y - c.y), right = (a.y - c.y) * (b.x - c.x), det = left - right;
    *doubt |= !(fabs(det) > CLGEOM_THETA_float * fabs(left + right) + 4 * FLT_MIN);      // as CLGEOM_FILTER
    return det;
#endif
}

// The vertex where the tangents a -> b and c -> d cross, see arc/arc_crossing.h.
inline point_t item_crossing(point_t a, point_t b, point_t c, point_t d, int *doubt)
{
#if EXACT
    return arc_crossing(0, a, b, c, d);
#else
    item_turn(c, d, b, doubt);                                     // b or c itself, if on both tangents
    item_turn(a, b, c, doubt);
    const real_t x = arc_crossing_x(a, b, c, d);
    long key;
    *doubt |= !arc_above_both(0, a, b, c, d, x, &key);
    return (point_t)(x, value_of(key, 0));
#endif
}
