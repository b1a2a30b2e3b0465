<%page args="key_bits=32, key_float=0, tile=2048, variant='group', wg_size=256, items_per_thread=8"/>\
// unique_count: the number of runs of equal keys that begin in each tile of sorted keys.
//
//   keys    | 1 1 2 5 .. | 5 5 7 .. | ..       tiles of ${tile}; a tile's first key is compared with the one before it
//   counts  [ 3 .. | 1 .. | .. | 0 ]           one a tile, and 0 behind them, where their exclusive scan has the total
//
// Reads n keys, writes one count a tile.
#include "portable.h"
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"
#include "keys/key_heads.h"
#define WG_SIZE ${wg_size}
#define TILE ${tile}
% if variant != "serial":
#include "group/reduce.h"
% endif

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void unique_count(global const key_t *keys, const uint n, const key_t apart, global uint *counts)
{
    const uint lid = get_local_id(0), tiles = (n + TILE - 1) / TILE;
% if variant == "serial":
    const uint share = (tiles + get_num_groups(0) - 1) / get_num_groups(0);
    const uint begin = min((uint)get_group_id(0) * share, tiles), end = min(begin + share, tiles);
    for (uint tile = begin; tile < end; ++tile) {
        global const key_t *mine = keys + tile * TILE;
        const uint count = min(n - tile * TILE, (uint)TILE);
        uint heads = tile ? key_begins(mine[-1], mine[0], apart) : 1;
        for (size_t i = 1; i < count; ++i)                   // no branch: vectorised
            heads += key_begins(mine[i - 1], mine[i], apart);
        counts[tile] = heads;
    }
% else:
    local uint cells[WG_SIZE];
    for (uint tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        const uint last = tile * TILE + min(n - tile * TILE, (uint)TILE);
        uint heads = 0;
        for (uint i = tile * TILE + lid; i < last; i += WG_SIZE)
            heads += i ? key_begins(keys[i - 1], keys[i], apart) : 1;
        cells[lid] = heads;
        GROUP_REDUCE(lid, other, cells[lid] += cells[other]);
        if (lid == 0)
            counts[tile] = cells[0];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
% endif
    if (get_global_id(0) == 0)
        counts[tiles] = 0;
}
