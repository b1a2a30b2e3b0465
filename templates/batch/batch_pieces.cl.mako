<%page args="variant='group', wg_size=64, items_per_thread=1"/>\
// batch_pieces: jobs for batch_hulls from groups that go into pieces.
//
//   first    | 0 . . | 3 . . . | 7 ..       piece i is number i - first[k] of group k's parts, all about equally large
//   jobs     [ begin, end, place in slots, target | .. ]
//
// Pieces leave their vertices inside the group's own places. A group in one piece is done with it: the target is the group,
// and the piece counts for nothing. Otherwise the target is piece i, behind all groups. One work-item to a piece.
#include "portable.h"
#include "batch_find.h"
#define WG_SIZE ${wg_size}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void batch_pieces(global const uint *large, const uint groups, global const uint *starts, global const uint *first,
                  const uint pieces, global const uint *begins, global const uint *sizes, const uint all_groups,
                  global uint *jobs, global uint *places, global uint *counts)
{
    const uint i = get_global_id(0);
    if (i == pieces)
        counts[all_groups + i] = 0;                // where the scan of the counts ends
    if (i >= pieces)
        return;
    const uint k = row_of(first, 0, groups - 1, i), parts = first[k + 1] - first[k], number = i - first[k];
    const uint low = (uint)((ulong)sizes[k] * number / parts), high = (uint)((ulong)sizes[k] * (number + 1) / parts);
    places[i] = starts[large[k]] + low;
    jobs[4 * i] = begins[k] + low;
    jobs[4 * i + 1] = begins[k] + high;
    jobs[4 * i + 2] = places[i];
    jobs[4 * i + 3] = parts == 1 ? large[k] : all_groups + i;
    if (parts == 1)
        counts[all_groups + i] = 0;
}
