<%page args="value_bits=32, variant='group', wg_size=256, items_per_thread=4"/>\
<% unsigned = {8: "uchar", 16: "ushort", 32: "uint", 64: "ulong"} %>\
// radix_gather: out[i] = values[indices[i]].
//
//   indices  | group 0's share | group 1's share | .. |      values: read anywhere
//
// Reads n indices and n values, writes n values.
#include "portable.h"
typedef ${unsigned[value_bits]} value_t;
#define WG_SIZE ${wg_size}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void radix_gather(global const value_t *values, global const uint *indices, const uint n, const uint share,
                  global value_t *out)
{
    const uint begin = min((ulong)get_group_id(0) * share, (ulong)n), end = begin + min(share, n - begin);
    for (uint i = begin + get_local_id(0); i < end; i += WG_SIZE)
        out[i] = values[indices[i]];
}
