// arc/arc_hulls_short.h: the lower and the upper hull of a segment of up to LONGEST candidates by one work-item. The includer
// has arc/arc_doubt.h, arc/arc_order.h, arc/arc_window.h, KEEP_COLLINEAR 0, hood/hood.h, SIDE, TURNED(side, p), which
// reflects the points of upper sides, and CHECK: 1 where the order of candidates is checked.

#if LONGEST <= 4
// The bits of the existing ones of four points, without the middle one of three where it is not a corner.
inline uint item_without(uint there, uint all, uint middle, point_t a, point_t b, point_t c, int *doubt)
{
    if ((there & all) != all)
        return 15;
    const real_t turn = item_turn(a, b, c, doubt);
    return IS_CORNER(turn) ? 15 : 15 - middle;
}

// Which of the existing ones of four points are corners of their lower hull: those below all lines from a point on the left
// to one on the right. Unlike those of a chain, the tests are independent.
inline uint item_corners(uint there, point_t p0, point_t p1, point_t p2, point_t p3, int *doubt)
{
    return there & item_without(there, 7, 2, p0, p1, p2, doubt) & item_without(there, 11, 2, p0, p1, p3, doubt)
        & item_without(there, 13, 4, p0, p2, p3, doubt) & item_without(there, 14, 4, p1, p2, p3, doubt);
}
#define OF_FOUR(EACH) EACH(0) EACH(1) EACH(2) EACH(3)
#else
#define ARC_LOAD(entry) (entry)
#define ARC_STACK(k) hull[(k) * WG_SIZE]
#define ARC_TURN(side, a, b, c) item_turn(a, b, c, doubt)
#include "arc/arc_chain.h"

inline void item_push(local point_t *hull, chain_t *chain, point_t p, int *doubt)
{
    ARC_PUSH(*chain, p, p, 0)
}
#endif

// Finds the hull corners among the lowest and highest candidates of the columns. They are WG_SIZE apart in `hulls`: lower
// ones, and from SIDE on upper ones. `low` is the lowest candidate of the first column. Returns the numbers of both sides.
inline uint2 item_hulls(const segment_t segment, uint m, point_t low, local const point_t *candidates,
                        local point_t *hulls, global uint *flag, int *doubt)
{
    point_t here = candidates[INDEX(segment.at)];
    int ordered = 1;
#if LONGEST <= 4
    uint low_size = 0, high_size = 0, there = 0;                   // there: bits of the columns that end in the segment
    const uint ends = m - 1 - segment.first;
#define LOOK_AT(k)                                                            \
    const point_t low##k = low, high##k = TURNED(1, here);                    \
    if (k < segment.count) {                                                  \
        const point_t next = candidates[INDEX(segment.at + k + 1)];           \
        if (CHECK)                                                            \
            ordered &= arc_is_finite(here) & arc_in_order(here, next);        \
        if (next.x != here.x || k == ends) {                                  \
            there |= 1u << k;                                                 \
            low = next;                                                       \
        }                                                                     \
        here = next;                                                          \
    }
    OF_FOUR(LOOK_AT)
    const uint lows = item_corners(there, low0, low1, low2, low3, doubt);
#define STORE_LOW(k)                                                          \
    if (lows & 1u << k)                                                       \
        hulls[low_size++ * WG_SIZE] = low##k;
    OF_FOUR(STORE_LOW)
    const uint highs = item_corners(there, high0, high1, high2, high3, doubt);
#define STORE_HIGH(k)                                                         \
    if (highs & 1u << k)                                                      \
        hulls[SIDE + high_size++ * WG_SIZE] = high##k;
    OF_FOUR(STORE_HIGH)
    const uint2 size = (uint2)(low_size, high_size);
#else
    chain_t lower = {0, 0, 0}, upper = {0, 0, 0};
    for (uint k = 0; k < segment.count; ++k) {
        const int last = segment.first + k + 1 == m;
        const point_t next = last ? here : candidates[INDEX(segment.at + k + 1)];
        if (CHECK)
            ordered &= arc_is_finite(here) & arc_in_order(here, next);
        if (last || next.x != here.x) {
            item_push(hulls, &lower, low, doubt);
            item_push(hulls + SIDE, &upper, TURNED(1, here), doubt);
            low = next;
        }
        here = next;
    }
    const uint2 size = (uint2)(lower.size, upper.size);
#endif
    if (CHECK && !ordered)
        atomic_or(flag, 1u);
    return size;
}
