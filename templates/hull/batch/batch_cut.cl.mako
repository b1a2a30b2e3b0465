<%page args="variant='group', wg_size=64, items_per_thread=1, piece=128, capacity=128"/>\
// batch_cut: the number of pieces of each large group in the next round.
//
//   round 0      large group k is group large[k] of all groups, and its points are the caller's
//   later ones   first   | 0 . . | 3 . | 5 ..       pieces of the round before, `parts`: those of group k
//                before  | 0 4 9 | 13 18 | 20 ..    vertices of the pieces, gathered: sizes[k] from begins[k] on
//
// A group without remaining points is solved. A group is stalled if more than three quarters of its points remain, and more
// than ${capacity}, which one piece solves in any case. A stalled group gets no pieces; it is appended to a list, in any
// order, and status[1] counts the list. A piece has at most ${piece} points. One work-item to a group.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define PIECE ${piece}
#define CAPACITY ${capacity}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void batch_cut(global const uint *large, const uint groups, global const uint *starts, const uint round,
               global const uint *first, global const uint *before, global uint *begins, global uint *sizes,
               global uint *parts, global uint *stalled, global uint *status)
{
    const uint k = get_global_id(0);
    if (k == groups)
        parts[k] = 0;
    if (k >= groups)
        return;
    const uint begin = round == 0 ? starts[large[k]] : before[first[k]];
    const uint end = round == 0 ? starts[large[k] + 1] : before[first[k + 1]];
    const uint size = end - begin;
    uint pieces = size / PIECE + (size % PIECE != 0);
    if (round > 0 && size > CAPACITY && size > sizes[k] - sizes[k] / 4) {
        stalled[atomic_inc(status + 1)] = k;
        pieces = 0;
    }
    begins[k] = begin;
    sizes[k] = size;
    parts[k] = pieces;
}
