<%page args="value='int', variant='group', wg_size=256, items_per_thread=1"/>\
// batch_heads: marks the first value of each run of equal values.
//
//   values   3 3 3 5 8 8 ..         sorted
//   heads    1 0 0 1 1 0 ..
//
// One work-item to ${items_per_thread} values. Reads each value twice, the second time from a cache, writes a byte.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SHARE ${items_per_thread}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void batch_heads(global const ${value} *values, const uint n, global uchar *heads)
{
    const uint tile = get_group_id(0) * (WG_SIZE * SHARE) + get_local_id(0);
    for (uint k = 0; k < SHARE; ++k) {
        const uint i = tile + k * WG_SIZE;
        if (i < n)
            heads[i] = i == 0 || values[i] != values[i - 1];
    }
}
