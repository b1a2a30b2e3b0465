<%page args="key_bits=32, key_float=0, variant='group', wg_size=256, items_per_thread=8"/>\
// key_range: the lowest and the highest ordered key of each group's share.
//
//   keys    | share of group 0 | share of group 1 | .. |
//   found   [ lowest, highest | lowest, highest | .. ]     for a share of no keys: of keys[0]
//
// Reads n keys.
#include "portable.h"
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"
#define WG_SIZE ${wg_size}
#include "group/reduce.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void key_range(global const key_t *keys, const uint n, const key_t flip, global key_t *found)
{
    local key_t lowest[WG_SIZE], highest[WG_SIZE];
    const uint lid = get_local_id(0), group = get_group_id(0), groups = get_num_groups(0);
    const uint share = n / groups + (n % groups != 0);
    const uint begin = min((ulong)group * share, (ulong)n), end = begin + min(share, n - begin);
    key_t low = key_digits(keys[0], flip), high = low;
    for (uint i = begin + lid; i < end; i += WG_SIZE) {
        const key_t key = key_digits(keys[i], flip);
        low = min(low, key);
        high = max(high, key);
    }
    lowest[lid] = low;
    highest[lid] = high;
    GROUP_REDUCE(lid, other, lowest[lid] = min(lowest[lid], lowest[other]);
                 highest[lid] = max(highest[lid], highest[other]));
    if (lid == 0) {
        found[2 * group] = lowest[0];
        found[2 * group + 1] = highest[0];
    }
}
