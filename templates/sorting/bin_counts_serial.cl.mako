<%page args="key_bits=32, key_float=0, edges=False, tables=1, local_counts=0, variant='serial', wg_size=1, items_per_thread=512"/>\
// bin_counts: the number of keys in each bin. The version of CPUs.
//
//   edges   bin b has the ordered keys from edges[b] to below edges[b + 1], the last one up to `last`, inclusive
//   else    bin b has the ordered key edges[0] + b
//   counts  [ group 0: ${tables} rows of bin 0, bin 1 .. | group 1: .. ]
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

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void bin_counts(global const key_t *keys, const uint n, const key_t flip, global const key_t *edges, const key_t last,
                const uint bins, global uint *counts)
{
    const uint group = get_group_id(0), groups = get_num_groups(0), share = n / groups + (n % groups != 0);
    const uint begin = min((ulong)group * share, (ulong)n), end = begin + min(share, n - begin);
    global uint *mine = counts + (ulong)group * ${tables} * bins;
    for (ulong b = 0; b < ${tables} * (ulong)bins; ++b)
        mine[b] = 0;
    uint i = begin;
#if EDGES
    for (; end - i >= 8; i += 8) {                        // eight searches at once: none waits for another's loads
        key_t key[8];
        uint low[8];
        for (uint j = 0; j < 8; ++j) {
            key[j] = key_digits(keys[i + j], flip);
            low[j] = 0;
        }
        EACH_HALF(length, bins)
            for (uint j = 0; j < 8; ++j)
                low[j] += HALVED(length, edges[low[j] + length / 2] <= key[j]);
        for (uint j = 0; j < 8; ++j)
            if (key[j] >= edges[0] && key[j] <= last)
                ++mine[low[j]];
    }
#else
    const key_t first = edges[0];
    for (; end - i >= 8; i += 8) {                        // neighbours in different rows: equal ones do not wait
        key_t key[8];
        for (uint j = 0; j < 8; ++j)
            key[j] = key_digits(keys[i + j], flip);
        for (uint j = 0; j < 8; ++j)
            if (key[j] >= first && key[j] <= last)
                ++mine[j % ${tables} * (ulong)bins + (uint)(key[j] - first)];
    }
#endif
    for (; i < end; ++i) {
        const uint bin = bin_of(key_digits(keys[i], flip), edges, last, bins);
        if (bin < bins)
            ++mine[bin];
    }
}
