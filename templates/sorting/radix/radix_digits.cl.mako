<%page args="key_bits=32, key_float=0, passes=4, copies=8, radix_bits=8, variant='group', wg_size=256, items_per_thread=8"/>\
// radix_digits: how often each digit of every pass occurs, in one read of the keys (before the passes of radix_onesweep).
//
//   keys    | share of group 0 | share of group 1 | .. |
//   chain   [ .. | pass 0: digit 0, 1 .. | pass 1: .. ]        counts, from entry `passes` on; 0 before
//   tables  [ pass 0: digit 0: copy 0 .. | digit 1: .. | .. ]  of a group, in local memory
//
// shifts, masks: those of pass p in byte p. Copies, so that a frequent digit is not one hot spot. Reads n keys.
#include "portable.h"
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"
#include "keys/radix_digit.h"
#define WG_SIZE ${wg_size}
#define ITEMS ${items_per_thread}
#define RADIX (1u << ${radix_bits})
#define PASSES ${passes}u
#define COPIES ${copies}u

inline void clear_tables(local uint *tables, uint lid)
{
    for (uint k = lid; k < PASSES * RADIX * COPIES; k += WG_SIZE)
        tables[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
}

inline void count_key(key_t bits, key_t flip, ulong shifts, ulong masks, volatile local uint *tables, uint copy)
{
    const key_t ordered = ordered_key(bits, flip);
    for (uint p = 0; p < PASSES; ++p) {
        const uint digit = (uint)(ordered >> (shifts >> 8 * p & 255)) & (uint)(masks >> 8 * p & 255);
        atomic_inc(&tables[(p * RADIX + digit) * COPIES + copy]);
    }
}

inline void add_tables(local const uint *tables, global uint *counts, uint lid)
{
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint d = lid; d < PASSES * RADIX; d += WG_SIZE) {
        uint sum = 0;
        for (uint c = 0; c < COPIES; ++c)
            sum += tables[d * COPIES + (c + lid) % COPIES];      // neighbours read different banks
        if (sum)
            atomic_add(&counts[d], sum);
    }
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void radix_digits(global const key_t *keys, const uint n, const uint share, const key_t flip, const ulong shifts,
                  const ulong masks, global uint *chain)
{
    const uint lid = get_local_id(0), copy = lid % COPIES;
    const uint begin = min((ulong)get_group_id(0) * share, (ulong)n), end = begin + min(share, n - begin);
    local uint tables[PASSES * RADIX * COPIES];
    clear_tables(tables, lid);
    uint base = begin;
    for (; end - base >= WG_SIZE * ITEMS; base += WG_SIZE * ITEMS) {
        key_t mine[ITEMS];                  // all loads are under way before the first is waited for
        for (uint k = 0; k < ITEMS; ++k)
            mine[k] = keys[base + k * WG_SIZE + lid];
        for (uint k = 0; k < ITEMS; ++k)
            count_key(mine[k], flip, shifts, masks, tables, copy);
    }
    for (uint i = base + lid; i < end; i += WG_SIZE)
        count_key(keys[i], flip, shifts, masks, tables, copy);
    add_tables(tables, chain + PASSES, lid);
}
