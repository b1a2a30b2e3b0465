<%page args="key_bits=32, key_float=0, digit_bits=10, variant='group', wg_size=256, items_per_thread=8"/>\
// select_digits: how often each digit occurs among the keys of a range (a step of a search for the k-th key).
//
//   digit   ordered key - low >> shift, where that is below 2^${digit_bits}; other keys are not counted
//   counts  [ digit 0, 1 .. ]                          0 before
//
// Keys below `low` wrap around to high digits. Reads n keys, writes the counts.
#include "portable.h"
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"
#define WG_SIZE ${wg_size}
#define DIGITS (1u << ${digit_bits})

// The digit of a key, or DIGITS for none.
inline uint digit_of(key_t bits, key_t flip, key_t low, uint shift)
{
    const key_t digit = (key_t)(key_digits(bits, flip) - low) >> shift;
    return (uint)min((ulong)digit, (ulong)DIGITS);
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void select_digits(global const key_t *keys, const uint n, const key_t flip, const key_t low, const uint shift,
                   volatile global uint *counts)
{
    volatile local uint table[DIGITS];
    const uint lid = get_local_id(0);
    for (uint d = lid; d < DIGITS; d += WG_SIZE)
        table[d] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) {
        const uint digit = digit_of(keys[i], flip, low, shift);
        if (digit < DIGITS)
            atomic_inc(&table[digit]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint d = lid; d < DIGITS; d += WG_SIZE)
        if (table[d])
            atomic_add(&counts[d], table[d]);
}
