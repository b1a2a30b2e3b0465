<%page args="key_bits=32, key_float=0, tile=2048, starts=False, inverse='', variant='serial', wg_size=1, items_per_thread=512"/>\
// unique_emit: the first key of each run of equal keys in sorted keys, and where the runs begin. The version of CPUs.
//
//   keys     | 1 1 2 5 .. | 5 5 7 .. | ..       tiles of ${tile}, as in unique_count
//   offsets  [ 0 | 3 | 4 | .. | total ]         exclusive scan of its counts
//   values   | 1 2 5 | 7 | ..                   starts: | 0 2 3 | 6 | ..
//   inverse  [order[i]] = run of key i          order: the index of each sorted key in the input
//
// Reads n keys (and their order), writes a value a run (and n runs).
#include "portable.h"
#define CLGEOM_SERIAL 1
#include "group/share.h"
#define STARTS ${int(starts)}
#define INVERSE ${int(bool(inverse))}
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"
#include "keys/key_heads.h"
#define TILE ${tile}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void unique_emit(global const key_t *keys, const uint n, const key_t apart, global const uint *offsets,
                 global key_t *values
#if STARTS
                 , global uint *starts
#endif
#if INVERSE
                 , global const uint *order, global ${inverse or "uint"} *inverse
#endif
                 )
{
    const uint tiles = (n + TILE - 1) / TILE;
    EACH_OF(uint, tile, tiles, get_group_id(0), get_num_groups(0)) {
        // every key is written where the next run's goes, until all runs of the tile have begun: no branch to predict
        const uint stop = offsets[tile + 1];
        uint next = offsets[tile];
        for (uint i = tile * TILE; next < stop; ++i) {
            const key_t own = keys[i];
            values[next] = own;
#if STARTS
            starts[next] = i;
#endif
            next += i ? key_begins(keys[i - 1], own, apart) : 1;
        }
#if INVERSE
        uint run = offsets[tile] - 1;
        const uint last = tile * TILE + min(n - tile * TILE, (uint)TILE);
        for (uint i = tile * TILE; i < last; ++i) {
            run += i ? key_begins(keys[i - 1], keys[i], apart) : 1;
            inverse[order[i]] = run;
        }
#endif
    }
}
