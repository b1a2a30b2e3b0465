<%page args="real='float', variant='group', wg_size=128, items_per_thread=1"/>\
// hood_order: the first point that is not in lexicographic order, and whether a coordinate is not finite.
//
//   points  | p0 p1 p2 .. |         serial: a share of neighbours to a work-item; group: work-items stride
//   found   [ (least i with p(i) < p(i - 1), else n; 1 for NaN or infinity) of group 0 | of group 1 | .. ]
//
// Reads every point once. A point beside a NaN counts as out of order, but the error for a NaN comes first.
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "portable.h"
#define WG_SIZE ${wg_size}
#include "group/reduce.h"
#define IN_ORDER(ax, ay, bx, by) ((ax) < (bx) || ((ax) == (bx) && (ay) <= (by)))

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void hood_order(global const ${real} *points, const uint n, global uint2 *found)
{
    local uint local_first[WG_SIZE], local_nonfinite[WG_SIZE];
    const uint lid = get_local_id(0);
    uint first = n, nonfinite = 0;
#if CLGEOM_SERIAL
    const uint share = n / get_global_size(0) + 1, begin = (uint)min(get_global_id(0) * share, (size_t)n);
    const uint end = begin + min(share, n - begin);
    ${real} ax = points[2 * (size_t)(begin < n ? begin : 0)], ay = points[2 * (size_t)(begin < n ? begin : 0) + 1];
    if (begin > 0 && begin < end) {
        ax = points[2 * (size_t)begin - 2];
        ay = points[2 * (size_t)begin - 1];
    }
    uint broken = 0;
    for (size_t i = begin; i < end; ++i) {         // no branches: usually all points are in order
        const ${real} bx = points[2 * i], by = points[2 * i + 1];
        broken |= !IN_ORDER(ax, ay, bx, by);
        nonfinite |= !(bx - bx == 0) | !(by - by == 0);
        ax = bx;
        ay = by;
    }
    if (broken)
        for (uint i = end - 1; i > 0 && i >= begin; --i)
            if (!IN_ORDER(points[2 * (size_t)i - 2], points[2 * (size_t)i - 1], points[2 * (size_t)i],
                          points[2 * (size_t)i + 1]))
                first = i;
#else
    for (uint i = get_global_id(0); i < n; i += get_global_size(0)) {
        const ${real}2 b = CLGEOM_LOAD2(${real}, points, i), a = CLGEOM_LOAD2(${real}, points, i > 0 ? i - 1 : 0);
        if (!IN_ORDER(a.x, a.y, b.x, b.y) && i < first)
            first = i;
        nonfinite |= !(b.x - b.x == 0) | !(b.y - b.y == 0);
    }
#endif
    local_first[lid] = first;
    local_nonfinite[lid] = nonfinite;
    GROUP_REDUCE(lid, other, local_first[lid] = min(local_first[lid], local_first[other]);
                             local_nonfinite[lid] |= local_nonfinite[other]);
    if (lid == 0)
        found[get_group_id(0)] = (uint2)(local_first[0], local_nonfinite[0]);
}
