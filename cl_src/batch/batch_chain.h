// batch/batch_chain.h: from the sorted points of one group to its hull, by one work-item. The includer has portable.h,
// geometry/orient2d.h, KEEP_COLLINEAR, hood/hood.h, and these:
//
//   chain_t                the data of the group, `c`, for the macros
//   CHAIN_ENTRY(c, k)      the number of sorted point k; all points differ
//   CHAIN_POINT(c, e)      the coordinates of entry e
//   CHAIN_GET(c, s), CHAIN_SET(c, s, e)          entry s of the lower hood's stack
//   CHAIN_GET_UPPER(c, n, s), CHAIN_SET_UPPER    of the upper hood's, for n points; may overwrite point n - 1 - s, because
//                                                points are then read from right to left only
// The lower stack has as many entries as there are points.
#include "hood/chain.h"

// Andrew's monotone chain: from left to right the lower hood, from right to left the upper one. The hull's corners are
// left in the lower stack, counter-clockwise from the first point; returns their number. `flat`: they are on one line. It
// is inlined: a call reads the pointers of `c` again for every point, and batches of 64 points take 7 % longer on PoCL.
inline __attribute__((always_inline)) uint item_chain(const chain_t c, uint count, int *flat)
{
#define CHAIN_CORNER(k) CHAIN_POINT(c, up ? CHAIN_GET_UPPER(c, count, k) : CHAIN_GET(c, k))
    const uint steps = 2 * count - 1;              // the last step returns to the first point, and only pops
    uint lower = 0;
    stack_t stack = {0, 0, 0};
    for (uint step = 0; step < steps; ++step) {
        const int up = step >= count;
        const uint entry = CHAIN_ENTRY(c, up ? steps - 1 - step : step);
        const point_t p = CHAIN_POINT(c, entry);
        if (step == count) {
            lower = stack.size;
            stack.size = 1;
            CHAIN_SET_UPPER(c, count, 0, CHAIN_GET(c, lower - 1));
        }
        CHAIN_TRIM(stack, 0, p, CHAIN_CORNER)
        if (step + 1 < steps || count == 1) {
            if (up)
                CHAIN_SET_UPPER(c, count, stack.size, entry);
            else
                CHAIN_SET(c, stack.size, entry);
            chain_push(&stack, p);
        }
    }
    if (count == 1)
        lower = stack.size;
    *flat = count <= 2 || lower + stack.size - 1 > count;      // every point is in both hoods
    if (!*flat)
        for (uint k = 1; k < stack.size; ++k)
            CHAIN_SET(c, lower + k - 1, CHAIN_GET_UPPER(c, count, k));
    lower += *flat ? 0 : stack.size - 1;
    *flat |= lower <= 2;
    return lower;
}
