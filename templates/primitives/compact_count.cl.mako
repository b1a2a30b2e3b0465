<%page args="classes=1, tile=4096, any_nonzero=False, variant='group', wg_size=256, items_per_thread=16"/>\
// compact_count: the number of labels of each class 1 .. CLASSES in every tile (other labels are not counted).
//
//   labels  | 0 2 0 0 1 .. | 0 0 .. |              a tile of ${tile} bytes to a group
//   counts  [ class 1: tile 0, tile 1 .. | class 2: .. ]    so that one exclusive scan gives the offsets of every class
//
// Reads n bytes, writes CLASSES counts a tile.
#include "portable.h"
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "group/share.h"
#define WG_SIZE ${wg_size}
#define TILE ${tile}
#define CLASSES ${classes}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void compact_count(global const uchar *labels, const ulong n, const ulong first_tile, const ulong all_tiles,
                   global uint *counts)
{
    local uint local_counts[CLASSES];
    const uint lid = get_local_id(0);
    const ulong tiles = (n + TILE - 1) / TILE;
    EACH_OF(ulong, tile, tiles, get_group_id(0), get_num_groups(0)) {
        for (uint c = lid; c < CLASSES; c += WG_SIZE)
            local_counts[c] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        uint mine[CLASSES];
        for (uint c = 0; c < CLASSES; ++c)
            mine[c] = 0;
        const ulong last = min(tile * TILE + TILE, n);
        for (ulong i = tile * TILE + lid; i < last; i += WG_SIZE) {
            const uchar label = labels[i];
            for (uint c = 0; c < CLASSES; ++c)
                mine[c] += ${"label != 0" if any_nonzero else "label == c + 1"};
        }
        for (uint c = 0; c < CLASSES; ++c)
            if (mine[c])
                atomic_add(&local_counts[c], mine[c]);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint c = lid; c < CLASSES; c += WG_SIZE)
            counts[c * all_tiles + first_tile + tile] = local_counts[c];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
