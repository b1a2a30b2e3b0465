<%page args="key_bits=32, key_float=0, edges=False, tables=1, local_counts=0, variant='group', wg_size=256, items_per_thread=8"/>\
// bin_counts: the number of keys in each bin.
//
//   edges   bin b has the ordered keys from edges[b] to below edges[b + 1], the last one up to `last`, inclusive
//   else    bin b has the ordered key edges[0] + b
//   counts  [ bin 0, bin 1 .. ]                           0 before; atomic, sums have no order
//
// With room for `local_counts` bins, a group counts its keys in local memory first, in as many rows as fit: equal keys of
// neighbours do not wait for each other. Reads n keys, writes the counts.
#include "portable.h"
#define EDGES ${int(edges)}   // bins have edges, else a width of 1
#define LOCAL_COUNTS ${local_counts}
#define MOST_ROWS 16
#define COUNT_OF(bin) ${"mine[row + bin]" if local_counts else "counts[bin]"}
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
#if LOCAL_COUNTS
    volatile local uint mine[LOCAL_COUNTS];
    const uint lid = get_local_id(0), rows = min(LOCAL_COUNTS / bins, (uint)MOST_ROWS), row = lid % rows * bins;
    for (uint k = lid; k < rows * bins; k += ${wg_size})
        mine[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    for (uint i = get_global_id(0); i < n; i += get_global_size(0)) {
        const uint bin = bin_of(key_digits(keys[i], flip), edges, last, bins);
        if (bin < bins)
            atomic_inc(&COUNT_OF(bin));
    }
#if LOCAL_COUNTS
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint bin = lid; bin < bins; bin += ${wg_size}) {
        uint sum = 0;
        for (uint k = bin; k < rows * bins; k += bins)
            sum += mine[k];
        if (sum)
            atomic_add(&counts[bin], sum);
    }
#endif
}
