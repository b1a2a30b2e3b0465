// arc/arc_tangent_short.h: the common tangent of two short hulls side by side. The includer has KEEP_COLLINEAR 0, hood/hood.h,
// arc/arc_doubt.h and WG_SIZE.
//
// Corners of one hull are WG_SIZE apart in memory. From the last corner of P and the first of Q the ends of the tangent
// move outward on both hulls until neither moves. Hulls are short: a binary search would take as many tests.

// Indices of the corners that the tangent touches: on P, from p_first to p, and on Q, from q to q_last.
inline uint2 item_tangent(local const point_t *hulls, uint p_first, uint p, uint q, uint q_last, int *doubt)
{
    point_t on_p = hulls[p], on_q = hulls[q];
    for (int moves = 1; moves;) {
        int moves_p = p > p_first, moves_q = q < q_last;
        const point_t next_p = hulls[moves_p ? p - WG_SIZE : p], next_q = hulls[moves_q ? q + WG_SIZE : q];
        if (moves_p) {
            const real_t turn = item_turn(next_p, on_q, on_p, doubt);
            moves_p = !BEYOND_P(turn);
        }
        if (moves_q) {
            const real_t turn = item_turn(on_p, on_q, next_q, doubt);
            moves_q = BEYOND_Q(turn);
        }
        if (moves_p) {
            p -= WG_SIZE;
            on_p = next_p;
        }
        if (moves_q) {
            q += WG_SIZE;
            on_q = next_q;
        }
        moves = moves_p | moves_q;
    }
    return (uint2)(p, q);
}
