<%page args="variant='group', wg_size=64, items_per_thread=1"/>\
// arc_tile_offsets: exclusive sums of the counts of arc_outline_local, within chunks of ${wg_size} tiles; a group to a chunk.
//
//   counts   [ lower vertices of tile 0 | of tile 1 .. | upper ones .. | segments .. ]
//   offsets  [ of the chunk's tiles before it .. ]       as counts
//   sums     [ lower vertices of chunk 0 | .. | upper ones .. | segments .. ]
#include "portable.h"
#define WG_SIZE ${wg_size}
#include "arc/arc_before.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_tile_offsets(global const uint *counts, const uint tiles, global uint *offsets, global uint *sums)
{
    local uint values[2 * WG_SIZE];
    const uint lid = get_local_id(0), tile = get_global_id(0);
    for (uint which = 0; which < 3; ++which) {
        const size_t at = (size_t)which * tiles + tile;
        uint all;
        const uint before = group_before(tile < tiles ? counts[at] : 0, lid, values, &all);
        if (tile < tiles)
            offsets[at] = before;
        if (lid == 0)
            sums[which * get_num_groups(0) + get_group_id(0)] = all;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
