<%page args="key_bits=32, key_float=0, tile=2048, variant='serial', wg_size=1, items_per_thread=512"/>\
// select_emit: the keys below a range and the first ones within it, with their indices. The version of CPUs.
//
//   keys     | 1 1 2 5 .. | 5 5 7 .. | ..         tiles of ${tile}, as in select_count
//   offsets  the exclusive scan of its counts
//   found    | all below the range, in input order | those within it, in input order | `room` entries in all
//
// Reads the keys of the tiles that have some, writes `room` keys and indices.
#include "portable.h"
#define CLGEOM_SERIAL 1
#include "group/share.h"
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"
#define TILE ${tile}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void select_emit(global const key_t *keys, const uint n, const key_t flip, const key_t low, const key_t high,
                 global const uint *counts, global const uint *offsets, const uint room, global key_t *found,
                 global uint *indices)
{
    const uint tiles = n / TILE + (n % TILE != 0);
    EACH_OF(uint, tile, tiles, get_group_id(0), get_num_groups(0)) {
        uint below = offsets[tile], within = offsets[tiles + tile];
        uint left = counts[tile] + min(counts[tiles + tile], within < room ? room - within : 0);
        for (uint i = tile * TILE; left; ++i) {
            const key_t key = key_digits(keys[i], flip);
            if (key > high || (key >= low && within >= room))
                continue;
            const uint to = key < low ? below++ : within++;
            found[to] = keys[i];
            indices[to] = i;
            --left;
        }
    }
}
