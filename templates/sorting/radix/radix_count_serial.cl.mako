<%page args="key_bits=32, key_float=0, radix_bits=8, variant='serial', wg_size=1, items_per_thread=1"/>\
// radix_count: the number of keys with each digit in each group's share (first launch of a radix pass). The version of
// CPUs.
//
//   keys    | share of group 0 | share of group 1 | .. |
//   counts  [ digit 0: group 0, group 1 .. | digit 1: .. | .. ]       RADIX rows, one column a group
//
// A work-item counts its share in private memory, in two tables so that equal neighbours do not wait for each other.
// Reads n keys, writes RADIX * groups counts.
#include "portable.h"
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"
#include "keys/radix_digit.h"
#define RADIX (1u << ${radix_bits})

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void radix_count(global const key_t *keys, const uint n, const uint share, const key_t flip, const uint shift,
                 const uint mask, global uint *counts)
{
    const uint group = get_group_id(0), groups = get_num_groups(0);
    const uint begin = min((ulong)group * share, (ulong)n), end = begin + min(share, n - begin);
    uint even[RADIX], odd[RADIX];
    for (uint d = 0; d < RADIX; ++d)
        even[d] = odd[d] = 0;
    uint i = begin;
    for (; end - i >= 2; i += 2) {
        ++even[radix_digit(keys[i], flip, shift, mask)];
        ++odd[radix_digit(keys[i + 1], flip, shift, mask)];
    }
    if (i < end)
        ++even[radix_digit(keys[i], flip, shift, mask)];
    for (uint d = 0; d < RADIX; ++d)
        counts[d * groups + group] = even[d] + odd[d];
}
