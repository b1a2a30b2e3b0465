<%page args="key_bits=32, key_float=0, digit_bits=10, variant='serial', wg_size=1, items_per_thread=512"/>\
// select_digits: how often each digit occurs among the keys of a range (a step of a search for the k-th key). The version of
// CPUs.
//
//   digit   ordered key - low >> shift, where that is below 2^${digit_bits}; other keys are not counted
//   counts  [ group 0: digit 0, 1 .. | group 1: .. ]
//
// Keys below `low` wrap around to high digits. Reads n keys, writes the counts.
#include "portable.h"
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"
#define DIGITS (1u << ${digit_bits})

// The digit of a key, or DIGITS for none.
inline uint digit_of(key_t bits, key_t flip, key_t low, uint shift)
{
    const key_t digit = (key_t)(key_digits(bits, flip) - low) >> shift;
    return (uint)min((ulong)digit, (ulong)DIGITS);
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void select_digits(global const key_t *keys, const uint n, const key_t flip, const key_t low, const uint shift,
                   global uint *counts)
{
#define TABLES 4                    // neighbours are counted in different tables: equal ones do not wait for each other
    const uint group = get_group_id(0), groups = get_num_groups(0), share = n / groups + (n % groups != 0);
    const uint begin = min((ulong)group * share, (ulong)n), end = begin + min(share, n - begin);
    uint tables[TABLES][DIGITS + 1];
    for (uint t = 0; t < TABLES; ++t)
        for (uint d = 0; d <= DIGITS; ++d)
            tables[t][d] = 0;
    size_t i = begin;
    for (; end - i >= TABLES; i += TABLES)
        for (uint t = 0; t < TABLES; ++t)
            ++tables[t][digit_of(keys[i + t], flip, low, shift)];
    for (; i < end; ++i)
        ++tables[0][digit_of(keys[i], flip, low, shift)];
    for (uint d = 0; d < DIGITS; ++d) {
        uint sum = 0;
        for (uint t = 0; t < TABLES; ++t)
            sum += tables[t][d];
        counts[group * DIGITS + d] = sum;
    }
}
