<%page args="key_bits=32, key_float=0, tile=2048, variant='group', wg_size=256, items_per_thread=8"/>\
// select_count: how many keys of each tile are below a range, and how many within it.
//
//   keys    | 1 1 2 5 .. | 5 5 7 .. | ..          tiles of ${tile}
//   counts  [ below: tile 0, tile 1 .. | within: tile 0, tile 1 .. ]
//
// low and high are ordered keys, both in the range. Reads n keys, writes two counts a tile.
#include "portable.h"
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "group/share.h"
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"
#define WG_SIZE ${wg_size}
#define TILE ${tile}
#include "group/reduce.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void select_count(global const key_t *keys, const uint n, const key_t flip, const key_t low, const key_t high,
                  global uint *counts)
{
    const uint tiles = n / TILE + (n % TILE != 0);
    local uint cells[WG_SIZE];                              // up to high << 16 | below: a tile has fewer than 2^16 keys
    const uint lid = get_local_id(0);
    EACH_OF(uint, tile, tiles, get_group_id(0), get_num_groups(0)) {
        global const key_t *mine = keys + (size_t)tile * TILE;
        const uint count = min(n - tile * TILE, (uint)TILE);
        uint below = 0, up_to = 0;
        for (size_t i = lid; i < count; i += WG_SIZE) {     // no branch: CPUs vectorise it
            const key_t key = key_digits(mine[i], flip);
            below += key < low;
            up_to += key <= high;
        }
        cells[lid] = up_to << 16 | below;
        GROUP_REDUCE(lid, other, cells[lid] += cells[other]);
        if (lid == 0) {
            counts[tile] = cells[0] & 0xffff;
            counts[tiles + tile] = (cells[0] >> 16) - (cells[0] & 0xffff);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
