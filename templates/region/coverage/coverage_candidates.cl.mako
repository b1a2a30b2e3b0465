<%page args="real='float', variant='group', wg_size=256, items_per_thread=1"/>\
// coverage_candidates: gathers the grid lines beside covered columns, as candidates of the lower and of the upper chain.
//
//   spans    | line 0 | line 1 | (none) | line 3 | .. |        regions one after the other, an item a line
//   starts   where a region's points begin
//   lower    | x0 top0 | x1 top1 | x3 top3 | ..                rows count downwards, so a region's lower chain is on
//   upper    | x0 bottom0 | x1 bottom1 | ..                    top in the picture
//
// Reads 12 bytes a line, writes two points.
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "portable.h"
#define WG_SIZE ${wg_size}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void coverage_candidates(global const int *spans, global const uint *ranks, global const uint *starts,
                         const uint lines, const ulong n, global ${real} *lower, global ${real} *upper)
{
#if CLGEOM_SERIAL
    const ulong share = (n + get_global_size(0) - 1) / get_global_size(0);
    const ulong begin = min(get_global_id(0) * share, n), end = min(begin + share, n), stride = 1;
#else
    const ulong begin = get_global_id(0), end = n, stride = get_global_size(0);
#endif
    for (ulong i = begin; i < end; i += stride) {
        const int top = spans[2 * i], bottom = spans[2 * i + 1];
        if (top < bottom) {
            const uint region = i / lines;
            const ${real} x = i - (ulong)region * lines;
            const ulong at = 2 * ((ulong)starts[region] + ranks[i]);
            lower[at] = x;
            lower[at + 1] = top;
            upper[at] = x;
            upper[at + 1] = bottom;
        }
    }
}
