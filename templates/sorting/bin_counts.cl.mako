<%page args="key_bits=32, key_float=0, edges=False, tables=1, variant='group', wg_size=256, items_per_thread=8"/>\
// bin_counts: the number of keys in each bin.
//
//   edges   bin b has the ordered keys from edges[b] to below edges[b + 1], the last one up to `last`, inclusive
//   else    bin b has the ordered key edges[0] + b
//   counts  [ bin 0, bin 1 .. ]                           0 before; atomic, sums have no order
//
// Reads n keys, writes the counts.
#include "portable.h"
#define EDGES ${int(edges)}   // bins have edges, else a width of 1
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"
#include "keys/bisect.h"

// The bin of an ordered key, or `bins` for none.
inline uint bin_of(key_t key, global const key_t *edges, key_t last, uint bins)
{
    if (key < edges[0] || key > last)
        return bins;
#if EDGES
    uint low = 0;                                         // the last edge that is not above the key
    EACH_HALF(length, bins)
        low += HALVED(length, edges[low + length / 2] <= key);
    return low;
#else
    return (uint)(key - edges[0]);
#endif
}

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void bin_counts(global const key_t *keys, const uint n, const key_t flip, global const key_t *edges, const key_t last,
                const uint bins, volatile global uint *counts)
{
    for (uint i = get_global_id(0); i < n; i += get_global_size(0)) {
        const uint bin = bin_of(key_digits(keys[i], flip), edges, last, bins);
        if (bin < bins)
            atomic_inc(&counts[bin]);
    }
}
