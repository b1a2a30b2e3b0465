<%page args="key_bits=8, tables=4, variant='serial', wg_size=1, items_per_thread=1"/>\
// radix_values: how often each narrow integer occurs in each group's share (first launch of a sort by counting, of CPUs).
//
//   keys    | share of group 0 | share of group 1 | .. |
//   counts  [ group 0: table 0: value 0, 1 .. | table 1: .. | .. | group 1: .. ]
//
// Neighbours are counted in different tables, so that equal ones do not wait for each other.
// Reads n keys, writes groups * ${tables} tables of 2^${key_bits} counts.
#include "portable.h"
#define CLGEOM_KEY_BITS ${key_bits}
#include "keys/key_order.h"
#define VALUES (1u << CLGEOM_KEY_BITS)
#define TABLES ${tables}
#define AT_ONCE 8

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void radix_values(global const key_t *keys, const uint n, const uint share, global uint *counts)
{
    const uint begin = min((ulong)get_group_id(0) * share, (ulong)n), end = begin + min(share, n - begin);
    global uint *tables = counts + (size_t)get_group_id(0) * TABLES * VALUES;
    for (uint k = 0; k < TABLES * VALUES; ++k)
        tables[k] = 0;
    size_t i = begin;
    for (; end - i >= AT_ONCE; i += AT_ONCE) {
        key_t next[AT_ONCE];                // loaded before the first count, which might be in the same memory
        for (uint k = 0; k < AT_ONCE; ++k)
            next[k] = keys[i + k];
        for (uint k = 0; k < AT_ONCE; ++k)
            ++tables[k % TABLES * VALUES + next[k]];
    }
    for (; i < end; ++i)
        ++tables[keys[i]];
}
