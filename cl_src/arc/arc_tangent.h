// arc/arc_tangent.h: the common tangent of two hulls side by side, by nested binary search. The includer has
// geometry/orient2d.h, real_t, point_t, KEEP_COLLINEAR 0, hood/hood.h and arc/arc_turn.h, and defines
//
//   hull_t                          the type through which corners are read
//   arc_corner(hull, index)         the coordinates of a corner
//
// P and Q are ranges of indices, of corners from left to right, strictly convex and of ascending x; P is left of Q.
// Source: Overmars and van Leeuwen, "Maintenance of configurations in the plane" (1981), searched in O(log p log q).

// The corner of Q, from lo to hi, that the tangent from p touches.
inline uint arc_touch(const hull_t *hull, uint side, point_t p, uint lo, uint hi)
{
    while (lo < hi) {
        const uint mid = lo + (hi - lo) / 2;
        const int turn = arc_turn(side, p, arc_corner(hull, mid), arc_corner(hull, mid + 1));
        if (BEYOND_Q(turn))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

// The indices (on P, on Q) of the corners that the tangent touches; of collinear corners the outer ones.
inline uint2 arc_tangent(const hull_t *hull, uint side, uint2 p_range, uint2 q_range)
{
    uint lo = p_range.x, hi = p_range.y, from_lo = q_range.x, from_hi = q_range.x;   // where tangents from lo and hi touch Q
    while (1) {
        const uint mid = lo + (hi - lo) / 2;
        const point_t from = arc_corner(hull, mid);
        const uint at = arc_touch(hull, side, from, min(from_lo, from_hi), q_range.y);
        if (lo >= hi)
            return (uint2)(lo, at);
        const int turn = arc_turn(side, from, arc_corner(hull, at), arc_corner(hull, mid + 1));
        if (BEYOND_P(turn)) {
            lo = mid + 1;
            from_lo = at;
        } else {
            hi = mid;
            from_hi = at;
        }
    }
}
