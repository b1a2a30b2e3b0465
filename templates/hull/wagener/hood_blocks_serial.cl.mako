<%page args="real='float', filtered=True, keep_collinear=False, variant='serial', wg_size=1, items_per_thread=1"/>\
// hood_blocks: the lower and the upper hood of every block of sorted points (first launch of the merge), on CPUs.
//
//   points   | block 0            | block 1            | ..      sorted by x, y, index
//              work-items 0, 1      2, 3                         one for the lower hood, one for the upper
//   corners  [ lower: block 0, left-justified .. | block 1 .. ][ upper: .. ]        indices of points
//   state    as hood/hood_state.h has it
//
// Of equal points the first is kept. A block is long; hood/hood_strip.h finds its hood. Reads every point twice (once for
// each side), writes the corners.
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP_COLLINEAR ${int(keep_collinear)}
#include "hood/hood.h"
#include "hood/hood_state.h"
#include "hood/hood_strip.h"
#define WG_SIZE ${wg_size}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void hood_blocks(global const real_t *points, const uint n, const uint block_size, const uint blocks,
                 global uint *corners, global uint *state)
{
    const uint side = get_group_id(0) & 1, block = get_group_id(0) / 2, begin = block * block_size;
    const uint size = item_strip(points, begin, min(block_size, n - begin), side, corners + (ulong)side * n + begin);
    write_block(state, blocks, side, block, begin, size);
}
