<%page args="key_bits=8, variant='serial', wg_size=1, items_per_thread=1"/>\
// radix_runs: each narrow integer as often as it was counted: sorted keys, without moving any (second launch of a sort by
// counting, of CPUs).
//
//   counts    [ row 0: value 0, 1 .. | row 1: .. | .. ]           rows of all groups of radix_values
//   keys_out  | share of group 0 | share of group 1 | .. |        a share may begin and end within a run
//
// Each group reads the counts up to its share. A short run is one write of AT_ONCE keys; the next run overwrites the rest.
#include "portable.h"
#define CLGEOM_KEY_BITS ${key_bits}
#include "keys/key_order.h"
#define VALUES (1u << CLGEOM_KEY_BITS)
#define BLOCK 256
#define AT_ONCE 8

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void radix_runs(global const uint *counts, const uint rows, const uint n, const uint share, const key_t flip,
                global key_t *keys_out)
{
    const uint begin = min((ulong)get_group_id(0) * share, (ulong)n), end = begin + min(share, n - begin);
    uint before = 0;                        // keys of the blocks before
    for (uint block = 0; block < VALUES && before < end; block += BLOCK) {
        const uint first = (block ^ flip) & ~(BLOCK - 1);           // of the block's values as keys
        uint sums[BLOCK], total = 0;
        for (uint v = 0; v < BLOCK; ++v)
            sums[v] = 0;
        for (uint row = 0; row < rows; ++row)
            for (uint v = 0; v < BLOCK; ++v)
                sums[v] += counts[(size_t)row * VALUES + first + v];
        for (uint v = 0; v < BLOCK; ++v)
            total += sums[v];
        if (before + total > begin) {
            uint at = before;
            for (uint v = 0; v < BLOCK; ++v) {
                const uint low = v ^ (flip & (BLOCK - 1)), next = at + sums[low], stop = min(next, end);
                const key_t key = (key_t)(first + low);
                uint i = max(at, begin);
                for (; i < stop && end - i >= AT_ONCE; i += AT_ONCE)
                    for (uint k = 0; k < AT_ONCE; ++k)
                        keys_out[i + k] = key;
                for (; i < stop; ++i)
                    keys_out[i] = key;
                at = next;
            }
        }
        before += total;
    }
}
