<%page args="real='float', check=False, run=8, variant='group', wg_size=256, items_per_thread=1"/>\
// arc_extremes: the greatest and the least y of every run of ${run} candidates; a work-item to a run.
//
//   candidates | run 0: p0 .. p${run - 1} | run 1: .. | ..             in memory, whatever the segments
//   extremes   [ (greatest, least)  | ..
//
% if check:
// flag is set if candidates are not in lexicographic order, or not finite.
% endif
// Reads every candidate once: nothing here waits for another work-item, so it runs at the speed of memory.
#include "portable.h"
typedef ${real} real_t;
typedef ${real}2 point_t;
#include "arc_order.h"
#define POINT(i) CLGEOM_LOAD2(${real}, points, i)

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void arc_extremes(global const real_t *points, const uint m, global real_t *extremes, global uint *flag)
{
    int bad = 0;
#pragma unroll
    for (uint k = 0; k < ${items_per_thread}; ++k) {
        const uint run = (get_group_id(0) * ${items_per_thread} + k) * ${wg_size} + get_local_id(0), first = run * ${run};
        if (run >= (m + ${run - 1}) / ${run})
            break;
        real_t top, bottom;
        if (first + ${run} <= m) {
            ${real}4 two[${run // 2}];
#pragma unroll
            for (uint j = 0; j < ${run // 2}; ++j)
                two[j] = CLGEOM_LOAD4(${real}, points, first / 2 + j);
% if check:
            point_t previous = POINT(max(first, 1u) - 1);
% if real != "int":
            real_t wild = 0;                               // NaN after an infinity or a NaN
% endif
% endif
            top = bottom = two[0].y;
#pragma unroll
            for (uint j = 0; j < ${run // 2}; ++j) {
                top = max(top, max(two[j].y, two[j].w));
                bottom = min(bottom, min(two[j].y, two[j].w));
% if check:
                bad |= !arc_in_order(previous, two[j].xy) | !arc_in_order(two[j].xy, two[j].zw);
                previous = two[j].zw;
% if real != "int":
                wild = fma(two[j].y, (real_t)0, fma(two[j].w, (real_t)0, wild));
% endif
% endif
            }
% if check:
            // x in order are finite if the first and the last one are
            bad |= ${"0" if real == "int" else "wild != 0"} | (first == 0 && !arc_is_finite(two[0].xy)) |
                   (first + ${run} == m && !arc_is_finite(previous));
% endif
        } else {
            top = bottom = points[2 * (size_t)first + 1];
            for (uint i = first; i < m; ++i) {
                const point_t p = POINT(i);
                top = max(top, p.y);
                bottom = min(bottom, p.y);
                bad |= ${"!arc_is_finite(p) || !arc_in_order(POINT(max(i, 1u) - 1), p)" if check else 0};
            }
        }
        vstore2((${real}2)(top, bottom), run, extremes);
    }
    if (bad)
        atomic_or(flag, 1u);
}
