<%page args="real='float', filtered=True, keep_collinear=False, variant='group', wg_size=128, items_per_thread=8"/>\
// hood_blocks: the lower and the upper hood of every block of sorted points (first launch of the merge).
//
//   points   | block 0            | block 1            | ..      sorted by x, y, index
//            | strip | strip | .. |                              a strip of ${items_per_thread} to a work-item, solved serially,
//                                                                then merged in local memory, twice as long each time
//   corners  [ lower: block 0, left-justified .. | block 1 .. ][ upper: .. ]        indices of points
//   state    as hood/hood_state.h has it
//
// Of equal points the first is kept. A strip is solved by Andrew's monotone chain; hood/hood_group.h has the merge. Reads
// every point twice (once for each side), writes the corners.
// Source: Wagener, "Optimally parallel algorithms for convex hull determination" (1985), in the work-optimal form.
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP_COLLINEAR ${int(keep_collinear)}
#include "hood/hood.h"
#include "hood/hood_state.h"
#define WG_SIZE ${wg_size}
#define STRIP ${items_per_thread}
#define BLOCK (WG_SIZE * STRIP)
#define HOOD_ITEMS WG_SIZE
#define SORTED(i) (i)
#include "hood/hood_group.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void hood_blocks(global const real_t *points, const uint n, const uint block_size, const uint blocks,
                 global uint *corners, global uint *state)
{
    local real_t x[BLOCK], y[BLOCK];
    local ushort hood[BLOCK];
    local ushort sizes[WG_SIZE], tangent_p[WG_SIZE], tangent_q[WG_SIZE], tried_p[WG_SIZE], tried_q[WG_SIZE];
    const uint lid = get_local_id(0), side = get_group_id(0) & 1, block = get_group_id(0) / 2, begin = block * block_size;
    const uint count = min(block_size, n - begin);
    for (uint i = lid; i < count; i += WG_SIZE) {
        const point_t p = CLGEOM_POINT(points, begin + i);
        x[i] = p.x;
        y[i] = p.y;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const merge_t merge = {sizes, tangent_p, tangent_q, tried_p, tried_q};
    const uint size = group_hood(x, y, 0, count, hood, merge, lid, side);
    corners += (ulong)side * n + begin;
    for (uint k = lid; k < size; k += WG_SIZE)
        corners[k] = begin + hood[k];
    if (lid == 0)
        write_block(state, blocks, side, block, begin, size);
}
