<%page args="variant='group', wg_size=64, items_per_thread=1"/>\
// arc_counts: how many vertices each segment has in the outline, and whether it has candidates.
//
//   links   [ q p from to | ..                                        see arc_segments.h
//   counts  [ lower side: of segment 0 | 1 | .. | upper side: .. | 1 where a segment is not empty, else 0 | .. ]
//
// The corners from q to p, or one vertex where the tangents cross (p left of q); as published both p and q.
#include "portable.h"
#include "arc_segments.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void arc_counts(global const uint *cuts, const uint segments, global const uint *links, const uint in_valley,
                global uint *counts)
{
    const ulong all = 3 * (ulong)segments;
    for (ulong i = get_global_id(0); i < all; i += get_global_size(0)) {
        const uint s = (uint)(i % segments);
        uint count = !arc_is_empty(cuts, s);
        if (count && i < 2 * (ulong)segments) {
            const uint q = links[4 * i + LINK_Q], p = links[4 * i + LINK_P];
            count = q <= p ? p - q + 1 : in_valley;
        }
        counts[i] = count;
    }
}
