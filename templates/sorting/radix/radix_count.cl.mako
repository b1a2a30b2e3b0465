<%page args="key_bits=32, key_float=0, radix_bits=8, variant='group', wg_size=256, items_per_thread=8"/>\
// radix_count: the number of keys with each digit in each group's share (first launch of a radix pass).
//
//   keys    | share of group 0 | share of group 1 | .. |
//   counts  [ digit 0: group 0, group 1 .. | digit 1: .. | .. ]       RADIX rows, one column a group
//   tables  [ digit 0: copy 0 .. 7 | digit 1: copy 0 .. 7 | .. ]      of a group, in local memory
//
// Local atomics on COPIES tables, so that a frequent digit is not one hot spot; sums do not depend on the order.
// Reads n keys, writes RADIX * groups counts.
#include "portable.h"
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"
#include "keys/radix_digit.h"
#define WG_SIZE ${wg_size}
#define ITEMS ${items_per_thread}
#define RADIX (1u << ${radix_bits})
#define COPIES 8

inline void clear_tables(local uint *tables, uint lid)
{
    for (uint k = lid; k < RADIX * COPIES; k += WG_SIZE)
        tables[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
}

inline void count_digits(global const key_t *keys, uint begin, uint end, key_t flip, uint shift, uint mask,
                         local uint *tables, uint lid)
{
    const uint copy = lid % COPIES;
    uint base = begin;
    for (; end - base >= WG_SIZE * ITEMS; base += WG_SIZE * ITEMS) {
        key_t mine[ITEMS];                  // all loads are issued before the first result is used
        for (uint k = 0; k < ITEMS; ++k)
            mine[k] = keys[base + k * WG_SIZE + lid];
        for (uint k = 0; k < ITEMS; ++k)
            atomic_inc(&tables[radix_digit(mine[k], flip, shift, mask) * COPIES + copy]);
    }
    for (uint i = base + lid; i < end; i += WG_SIZE)
        atomic_inc(&tables[radix_digit(keys[i], flip, shift, mask) * COPIES + copy]);
    barrier(CLK_LOCAL_MEM_FENCE);
}

// Each work-item begins with another copy: neighbours then read different banks.
inline void sum_copies(local const uint *tables, global uint *counts, uint lid)
{
    for (uint d = lid; d < RADIX; d += WG_SIZE) {
        uint sum = 0;
        for (uint c = 0; c < COPIES; ++c)
            sum += tables[d * COPIES + (c + lid) % COPIES];
        counts[d * get_num_groups(0) + get_group_id(0)] = sum;
    }
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void radix_count(global const key_t *keys, const uint n, const uint share, const key_t flip, const uint shift,
                 const uint mask, global uint *counts)
{
    const uint lid = get_local_id(0);
    const uint begin = min((ulong)get_group_id(0) * share, (ulong)n), end = begin + min(share, n - begin);
    local uint tables[RADIX * COPIES];
    clear_tables(tables, lid);
    count_digits(keys, begin, end, flip, shift, mask, tables, lid);
    sum_copies(tables, counts, lid);
}
