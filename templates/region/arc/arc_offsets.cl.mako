<%page args="variant='group', wg_size=64, items_per_thread=1"/>\
<% chunk = wg_size * items_per_thread %>\
// arc_offsets: vertices before each segment and side, and segments that are not empty; a work-group to a chunk of ${chunk}.
//
//   links    [ q p from to | ..                                       see arc/arc_segments.h
//   offsets  [ lower side: of segment 0 | 1 | .. | upper side: .. | segments not empty before it .. | .. ]
//            in their chunk; arc_offset adds the sums of the chunks before
//   sums     [ all of chunk 0 | of chunk 1 | .. ]
//
// Counts run on from side to side.
#include "portable.h"
#include "arc/arc_segments.h"
#define WG_SIZE ${wg_size}
#include "arc/arc_before.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_offsets(global const uint *cuts, const uint segments, global const uint *links, const uint reflex_vertices,
                 global uint *offsets, global uint *sums)
{
    local uint values[2 * WG_SIZE];
    const uint all = 3 * segments, lid = get_local_id(0);
    const uint first = min((uint)get_global_id(0) * ${items_per_thread}, all + 1), last = min(first + ${items_per_thread}, all + 1);
    uint sum = 0, chunk;
    for (uint i = first; i < last; ++i) {
        const uint count = i < all ? arc_count(cuts, links, segments, i, reflex_vertices) : 0;
        offsets[i] = sum;                          // of the run, so far
        sum += count;
    }
    const uint before = group_before(sum, lid, values, &chunk);
    for (uint i = first; WG_SIZE > 1 && i < last; ++i)
        offsets[i] += before;
    if (lid == 0)
        sums[get_group_id(0)] = chunk;
}
