<%page args="variant='group', wg_size=256, items_per_thread=4"/>\
// radix_mark: the index of each key's segment.
//
//   offsets   [ 0 | 3 | 3 | 7 ]
//   segment   | 0 0 0 | 2 2 2 2 |        empty segments have no key
//
// The last segment that begins at or before the key. Each work-item finds it by bisection for its first key, then goes
// through the offsets. Reads the offsets about once a group, writes n numbers.
#include "portable.h"
#include "keys/bisect.h"
#define WG_SIZE ${wg_size}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void radix_mark(global const uint *offsets, const uint segments, const uint n, const uint share, global uint *segment)
{
    const uint begin = min((ulong)get_group_id(0) * share, (ulong)n), end = begin + min(share, n - begin);
    const uint first = begin + get_local_id(0);
    uint low = 0;                           // the last segment that begins at or before `first`
    EACH_HALF(length, segments)
        low += HALVED(length, offsets[low + length / 2] <= first);
    for (uint i = first; i < end; i += WG_SIZE) {
        while (low + 1 < segments && offsets[low + 1] <= i)
            ++low;
        segment[i] = low;
    }
}
