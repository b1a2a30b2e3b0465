<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// classes_roots: the root of every number, once all are united; see classes/unite.h.
//
//   parents  | 0 0 1 3 3 .. |        a forest, parents before children
//   roots    | 0 0 0 3 3 .. |        the same trees, one step high
//
// Paths become shorter as they are walked: a face that winds has long ones. What another work-item has read before remains
// an ancestor. On CPUs a share is ascending, so the roots of parents in it are known.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"

inline uint root_above(volatile global uint *parents, uint one)
{
    uint parent = parents[one];
    while (parent != one) {
        const uint above = parents[parent];
        if (above != parent)
            atomic_min(&parents[one], above);
        one = parent;
        parent = above;
    }
    return one;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_roots(volatile global uint *parents, const uint n, global uint *roots)
{
    const range_t items = items_of(n);
    for (uint one = items.begin; one < items.end; one += items.stride) {
#if SERIAL
        const uint parent = parents[one];
        roots[one] = parent == one ? one : parent >= items.begin ? roots[parent] : root_above(parents, parent);
#else
        roots[one] = root_above(parents, one);
#endif
    }
}
