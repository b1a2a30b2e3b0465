<%page args="variant='group', wg_size=64, items_per_thread=1"/>\
// arc_offsets: the number of each segment's first vertex, and how many segments are not empty before it; one work-group.
//
//   links    [ q p from to | ..                                       see arc_segments.h
//   offsets  [ lower side: of segment 0 | 1 | .. | upper side: .. | segments not empty before it .. | total of all ]
//
// Counts run on from side to side. A work-item sums a run of the counts, and writes it once all sums are known.
#include "portable.h"
#include "arc_segments.h"
#define WG_SIZE ${wg_size}
#include "arc_before.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_offsets(global const uint *cuts, const uint segments, global const uint *links, const uint in_valley,
                 global uint *offsets)
{
    local uint values[WG_SIZE], sums[ARC_CHUNKS + 1];
    const uint all = 3 * segments, run = (all + WG_SIZE - 1) / WG_SIZE, lid = get_local_id(0);
    const uint first = min(lid * run, all), last = min(first + run, all);
    uint sum = 0;
    for (uint i = first; i < last; ++i)
        sum += arc_count(cuts, links, segments, i, in_valley);
    uint at = group_before(sum, lid, values, sums);
    for (uint i = first; i < last; ++i) {
        offsets[i] = at;
        at += arc_count(cuts, links, segments, i, in_valley);
    }
    if (lid == 0)
        offsets[all] = sums[ARC_CHUNKS];
}
