// hood/hood_group.h: the hood of points in local memory by a work-group. The includer has geometry/orient2d.h,
// KEEP_COLLINEAR, hood/hood.h, and
//
//   HOOD_ITEMS    work-items that make one hood, and STRIP, the points of each; others may call, and do nothing
//   SORTED(i)     the index in x and y of the i-th point in lexicographic order
//
// Every work-item makes the hood of its strip by Andrew's monotone chain; then neighbouring hoods are merged two by two: the
// work-items of both search for the common tangent, and move the remaining corners of the right hood.

#include "hood/chain.h"
#ifndef NEAR
#define NEAR 8               // steps from the meeting point of two hoods before the search begins
#endif
#define UNKNOWN 0xffff
typedef struct { local const real_t *x, *y; local const ushort *hood; uint side; } hood_t;
typedef struct { local ushort *sizes, *tangent_p, *tangent_q, *tried_p, *tried_q; } merge_t;     // an entry for each caller

inline point_t corner(const hood_t *hoods, uint k)
{
    const uint at = hoods->hood[k];
    return (point_t)(hoods->x[at], hoods->y[at]);
}

// The corner of Q, from lo to hi, that the tangent from p touches.
inline uint touch(const hood_t *hoods, point_t p, uint lo, uint hi)
{
    while (lo < hi) {
        const uint mid = (lo + hi) / 2;
        const int turn = hood_turn(hoods->side, p, corner(hoods, mid), corner(hoods, mid + 1));
        if (BEYOND_Q(turn))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

// Writes the indices of the corners to `hood`, which holds HOOD_ITEMS * STRIP, and returns their number. All work-items of
// the group call it with the same `count`. Of equal points the first is kept.
inline uint group_hood(local const real_t *x, local const real_t *y, local const ushort *sorted, uint count,
                       local ushort *hood, const merge_t merge, uint item, uint side)
{
    const hood_t hoods = {x, y, hood, side};
    const uint strip = item * STRIP;
    stack_t stack = {0, 0, 0};
#define STRIP_CORNER(k) corner(&hoods, strip + (k))
    for (uint i = strip; i < min(strip + STRIP, count); ++i) {
        const uint at = SORTED(i);
        const point_t p = (point_t)(x[at], y[at]);
        if (chain_has(&stack, p))
            continue;
        CHAIN_TRIM(stack, side, p, STRIP_CORNER)
        hood[strip + stack.size] = at;
        chain_push(&stack, p);
    }
    merge.sizes[item] = stack.size;

    // Merges hoods of `span` strips two by two. sizes[s]: corners of the hood that begins with strip s. Mostly the common
    // tangent is near the meeting point of the hoods, and one work-item finds it in a few steps from there. If not,
    // the work-items of both try evenly spaced corners of P: each finds the tangent from its corner to Q, which tells
    // on which side the common tangent is. The one whose corner is next to it narrows the range down.
    // Every loop with barriers passes one before it may end, and ends on one condition: where a path skips a barrier, PoCL
    // duplicates the code after the barrier for that path.
    for (uint span = 1;; span *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if ((span >= HOOD_ITEMS) | (span * STRIP >= count))
            break;
        const uint team = 2 * span, pair = item & ~(team - 1), q_strip = pair + span, t = item - pair;
        const uint p_first = pair * STRIP, q_end = q_strip * STRIP + merge.sizes[q_strip];
        uint lo = p_first, hi = p_first + max((uint)merge.sizes[pair], 1u) - 1, q = q_strip * STRIP;
        if (q < q_end) {
            const point_t end = corner(&hoods, hi), start = corner(&hoods, q);
            q += end.x == start.x && end.y == start.y;       // an equal point of higher index
        }
        const int meets = q < q_end;                         // otherwise Q is empty, and P is unchanged
        if (t == 0) {
            uint p_at = meets ? hi : p_first + merge.sizes[pair] - 1, q_at = q;              // P may be empty
            int found = !meets;
            for (uint step = 0; step < NEAR && !found; ++step) {
                const point_t from = corner(&hoods, p_at), to = corner(&hoods, q_at);
                if (q_at + 1 < q_end && BEYOND_Q(hood_turn(side, from, to, corner(&hoods, q_at + 1))))
                    ++q_at;
                else if (p_at > lo && !BEYOND_P(hood_turn(side, corner(&hoods, p_at - 1), to, from)))
                    --p_at;
                else
                    found = 1;
            }
            merge.tangent_p[pair] = p_at;
            merge.tangent_q[pair] = found ? q_at : UNKNOWN;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const int seeks = merge.tangent_q[pair] == UNKNOWN;
        uint mid = lo + (hi - lo) * (t + 1) / (team + 1), at = q;
        int beyond = 0;
        if (seeks && lo < hi) {
            const point_t from = corner(&hoods, mid);
            at = touch(&hoods, from, q, q_end - 1);
            beyond = BEYOND_P(hood_turn(side, from, corner(&hoods, at), corner(&hoods, mid + 1)));
        }
        merge.tried_p[item] = mid << 1 | beyond;
        merge.tried_q[item] = at;
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint before = merge.tried_p[t ? item - 1 : item], before_at = merge.tried_q[t ? item - 1 : item];
        if (seeks && (beyond ? t == team - 1 : t == 0 || before & 1)) {
            uint from_lo = q, from_hi = q;                   // corners of Q that the tangents from lo and hi touch
            int known = 0;                                   // whether from_hi is
            if (lo < hi) {
                if (beyond || t) {
                    lo = (beyond ? mid : before >> 1) + 1;
                    from_lo = beyond ? at : before_at;
                }
                if (!beyond) {
                    hi = mid;
                    from_hi = at;
                    known = 1;
                }
                while (lo < hi) {
                    mid = (lo + hi) / 2;
                    const point_t from = corner(&hoods, mid);
                    at = touch(&hoods, from, min(from_lo, from_hi), q_end - 1);
                    if (BEYOND_P(hood_turn(side, from, corner(&hoods, at), corner(&hoods, mid + 1)))) {
                        lo = mid + 1;
                        from_lo = at;
                    } else {
                        hi = mid;
                        from_hi = at;
                        known = 1;
                    }
                }
            }
            merge.tangent_p[pair] = hi;
            merge.tangent_q[pair] = known ? from_hi : touch(&hoods, corner(&hoods, hi), min(from_lo, from_hi), q_end - 1);
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        // The remaining corners of Q move next to those of P: each work-item moves the indices of its strip.
        const uint keeps = merge.tangent_p[pair] + 1, from = merge.tangent_q[pair];
        ushort moved[STRIP];
        for (uint k = 0; k < STRIP; ++k)
            moved[k] = strip + k < count ? hood[strip + k] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item >= q_strip)
            for (uint k = 0; k < STRIP; ++k)
                if (strip + k >= from && strip + k < q_end)
                    hood[keeps + (strip + k - from)] = moved[k];
        if (item == pair)
            merge.sizes[pair] = keeps - pair * STRIP + (q_end > from ? q_end - from : 0);
    }
    return merge.sizes[0];
}
