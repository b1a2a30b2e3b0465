<%page args="key_bits=32, key_float=0, tile=2048, variant='group', wg_size=256, items_per_thread=8"/>\
// select_count: how many keys of each tile are below a range, and how many within it.
//
//   keys    | 1 1 2 5 .. | 5 5 7 .. | ..          tiles of ${tile}
//   counts  [ below: tile 0, tile 1 .. | within: tile 0, tile 1 .. ]
//
// low and high are ordered keys, both in the range. Reads n keys, writes two counts a tile.
#include "portable.h"
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"
#define WG_SIZE ${wg_size}
#define TILE ${tile}
% if variant != "serial":
#include "group/reduce.h"
% endif

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void select_count(global const key_t *keys, const uint n, const key_t flip, const key_t low, const key_t high,
                  global uint *counts)
{
    const uint tiles = n / TILE + (n % TILE != 0);
% if variant == "serial":
    const uint share = (tiles + get_num_groups(0) - 1) / get_num_groups(0);
    const uint begin = min((uint)get_group_id(0) * share, tiles), end = min(begin + share, tiles);
    for (uint tile = begin; tile < end; ++tile) {
        global const key_t *mine = keys + (size_t)tile * TILE;
        const uint count = min(n - tile * TILE, (uint)TILE);
        uint below = 0, up_to = 0;
        for (size_t i = 0; i < count; ++i) {                // no branch: vectorised
            const key_t key = key_digits(mine[i], flip);
            below += key < low;
            up_to += key <= high;
        }
        counts[tile] = below;
        counts[tiles + tile] = up_to - below;
    }
% else:
    local uint cells[WG_SIZE];                              // within << 16 | below: a tile has fewer than 2^16 keys
    const uint lid = get_local_id(0);
    for (uint tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        const uint last = tile * TILE + min(n - tile * TILE, (uint)TILE);
        uint found = 0;
        for (uint i = tile * TILE + lid; i < last; i += WG_SIZE) {
            const key_t key = key_digits(keys[i], flip);
            found += key < low ? 1 : (uint)(key <= high) << 16;
        }
        cells[lid] = found;
        GROUP_REDUCE(lid, other, cells[lid] += cells[other]);
        if (lid == 0) {
            counts[tile] = cells[0] & 0xffff;
            counts[tiles + tile] = cells[0] >> 16;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
% endif
}
