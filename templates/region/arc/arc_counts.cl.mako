<%page args="variant='group', wg_size=64, items_per_thread=1"/>\
// arc_counts: the number of vertices of each segment in the outline, and whether it has candidates.
//
//   links   [ q p from to | ..                                        see arc/arc_segments.h
//   counts  [ lower side: of segment 0 | 1 | .. | upper side: .. | 1 where a segment is not empty, else 0 | .. | 0 ]
//
// For many segments; arc_offsets counts and sums few segments in one launch.
#include "portable.h"
#include "arc/arc_segments.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void arc_counts(global const uint *cuts, const uint segments, global const uint *links, const uint reflex_vertices,
                global uint *counts)
{
    const uint all = 3 * segments;
    const share_t share = item_share(all + 1, ${int(variant == "serial")});
    for (ulong i = share.begin; i < share.end; i += share.stride)
        counts[i] = i < all ? arc_count(cuts, links, segments, (uint)i, reflex_vertices) : 0;
}
