<%page args="key_bits=32, key_float=0, tile=2048, starts=False, inverse='', variant='group', wg_size=256, items_per_thread=8"/>\
// unique_emit: the first key of each run of equal keys in sorted keys, and where the runs begin.
//
//   keys     | 1 1 2 5 .. | 5 5 7 .. | ..       tiles of ${tile}, as in unique_count
//   offsets  [ 0 | 3 | 4 | .. | total ]         exclusive scan of its counts
//   values   | 1 2 5 | 7 | ..                   starts: | 0 2 3 | 6 | ..
//   inverse  [order[i]] = run of key i          order: the index of each sorted key in the input
//
// Reads n keys (and their order), writes a value a run (and n runs).
#include "portable.h"
#define STARTS ${int(starts)}
#define INVERSE ${int(bool(inverse))}
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"
#include "keys/key_heads.h"
#define WG_SIZE ${wg_size}
#define TILE ${tile}
#define CLGEOM_SERIAL 0
#include "group/share.h"
#include "group/scan.h"
GROUP_SCAN(group_scan_heads, local, uint, GROUP_SUM)
#define ITEMS (TILE / WG_SIZE)

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
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
    local uint cells[2 * WG_SIZE];
    const uint lid = get_local_id(0);
    EACH_OF(uint, tile, tiles, get_group_id(0), get_num_groups(0)) {
        const uint last = tile * TILE + min(n - tile * TILE, (uint)TILE);
        const uint first = min(tile * TILE + lid * ITEMS, last), after = min(first + ITEMS, last);
        uint heads = 0;
        for (uint i = first; i < after; ++i)
            heads += i ? key_begins(keys[i - 1], keys[i], apart) : 1;
        cells[lid] = heads;
        const uint from = group_scan_heads(cells, WG_SIZE, lid);
        uint next = offsets[tile] + cells[from + lid] - heads;
        for (uint i = first; i < after; ++i) {
            if (!i || key_begins(keys[i - 1], keys[i], apart)) {
                values[next] = keys[i];
#if STARTS
                starts[next] = i;
#endif
                ++next;
            }
#if INVERSE
            inverse[order[i]] = next - 1;
#endif
        }
        GROUP_BARRIER();
    }
}
