<%page args="key_bits=32, key_float=0, tile=2048, variant='group', wg_size=256, items_per_thread=8"/>\
// unique_count: the number of runs of equal keys that begin in each tile of sorted keys.
//
//   keys    | 1 1 2 5 .. | 5 5 7 .. | ..       tiles of ${tile}; a tile's first key is compared with the one before it
//   counts  [ 3 .. | 1 .. | .. | 0 ]           one a tile, and 0 behind them, where their exclusive scan has the total
//
// Reads n keys, writes one count a tile.
#include "portable.h"
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "group/share.h"
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"
#include "keys/key_heads.h"
#define WG_SIZE ${wg_size}
#define TILE ${tile}
#include "group/reduce.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void unique_count(global const key_t *keys, const uint n, const key_t apart, global uint *counts)
{
    const uint lid = get_local_id(0), tiles = (n + TILE - 1) / TILE;
    local uint cells[WG_SIZE];
    EACH_OF(uint, tile, tiles, get_group_id(0), get_num_groups(0)) {
        global const key_t *mine = keys + (size_t)tile * TILE;
        const uint count = min(n - tile * TILE, (uint)TILE);
        uint heads = 0;
        for (size_t i = lid + 1; i < count; i += WG_SIZE)    // no branch: CPUs vectorise it
            heads += key_begins(mine[i - 1], mine[i], apart);
        if (lid == 0)
            heads += tile ? key_begins(mine[-1], mine[0], apart) : 1;
        cells[lid] = heads;
        GROUP_REDUCE(lid, other, cells[lid] += cells[other]);
        if (lid == 0)
            counts[tile] = cells[0];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (get_global_id(0) == 0)
        counts[tiles] = 0;
}
