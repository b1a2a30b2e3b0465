<%page args="variant='group', wg_size=64, items_per_thread=1"/>\
// arc_offsets: the number of each segment's first vertex, and how many segments are not empty before it; one work-group.
//
//   links    [ q p from to | ..                                       see arc_segments.h
//   offsets  [ lower side: of segment 0 | 1 | .. | upper side: .. | segments not empty before it .. | total of all ]
//
// Counts run on from side to side. They are found side by side; then a work-item sums a run of them, and goes over it once
// more when all sums are known.
#include "portable.h"
#include "arc_segments.h"
#define WG_SIZE ${wg_size}
#include "arc_before.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_offsets(global const uint *cuts, const uint segments, global const uint *links, const uint in_valley,
                 global uint *offsets)
{
    local uint values[WG_SIZE], sums[ARC_CHUNKS];
    const uint n = 3 * segments, run = (n + WG_SIZE - 1) / WG_SIZE, lid = get_local_id(0);
    const uint first = min(lid * run, n), last = min(first + run, n);
    for (uint i = lid; i < n; i += WG_SIZE)
        offsets[i] = arc_count(cuts, links, segments, i, in_valley);
    barrier(CLK_GLOBAL_MEM_FENCE);
    uint sum = 0, all;
    for (uint i = first; i < last; ++i)
        sum += offsets[i];
    uint before = group_before(sum, lid, values, sums, &all);
    for (uint i = first; i < last; ++i) {
        const uint count = offsets[i];
        offsets[i] = before;
        before += count;
    }
    if (lid == 0)
        offsets[n] = all;
}
