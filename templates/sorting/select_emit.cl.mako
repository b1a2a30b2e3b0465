<%page args="key_bits=32, key_float=0, tile=2048, variant='group', wg_size=256, items_per_thread=8"/>\
// select_emit: the keys below a range and the first ones within it, with their indices.
//
//   keys     | 1 1 2 5 .. | 5 5 7 .. | ..         tiles of ${tile}, as in select_count
//   offsets  the exclusive scan of its counts
//   found    | all below the range, in input order | those within it, in input order | `room` entries in all
//
// Reads the keys of the tiles that have some, writes `room` keys and indices.
#include "portable.h"
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"
#define WG_SIZE ${wg_size}
#define TILE ${tile}
#define CLGEOM_SERIAL 0
#include "group/share.h"
#include "group/scan.h"
GROUP_SCAN(group_scan_counts, local, uint, GROUP_SUM)
#define ITEMS (TILE / WG_SIZE)

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void select_emit(global const key_t *keys, const uint n, const key_t flip, const key_t low, const key_t high,
                 global const uint *counts, global const uint *offsets, const uint room, global key_t *found,
                 global uint *indices)
{
    const uint tiles = n / TILE + (n % TILE != 0);
    local uint cells[2 * WG_SIZE];
    const uint lid = get_local_id(0);
    EACH_OF(uint, tile, tiles, get_group_id(0), get_num_groups(0)) {
        const uint before = offsets[tile], before_within = offsets[tiles + tile];
        if (!counts[tile] && (!counts[tiles + tile] || before_within >= room))
            continue;                                       // the same for all work-items of the group
        const uint last = tile * TILE + min(n - tile * TILE, (uint)TILE);
        const uint first = min(tile * TILE + lid * ITEMS, last), after = min(first + ITEMS, last);
        uint mine = 0;                                      // within << 16 | below
        for (uint i = first; i < after; ++i) {
            const key_t key = key_digits(keys[i], flip);
            mine += key < low ? 1 : (uint)(key <= high) << 16;
        }
        cells[lid] = mine;
        const uint from = group_scan_counts(cells, WG_SIZE, lid), sums = cells[from + lid] - mine;
        uint below = before + (sums & 0xffff), within = before_within + (sums >> 16);
        for (uint i = first; i < after; ++i) {
            const key_t key = key_digits(keys[i], flip);
            if (key > high)
                continue;
            const uint to = key < low ? below++ : within++;
            if (to < room) {
                found[to] = keys[i];
                indices[to] = i;
            }
        }
        GROUP_BARRIER();
    }
}
