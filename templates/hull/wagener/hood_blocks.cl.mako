<%page args="real='float', filtered=True, keep=False, variant='group', wg_size=128, items_per_thread=8"/>\
// hood_blocks: the lower and the upper hood of every block of sorted points (first launch of the merge).
//
//   points   | block 0            | block 1            | ..      sorted by x, y, index; equal ones side by side
//            | strip | strip | .. |                              group: a strip of ${items_per_thread} to a work-item, solved
//                                                                serially, then merged in local memory, twice as long
//                                                                each time; serial: one work-item, one block
//   corners  [ lower: block 0, left-justified .. | block 1 .. ][ upper: .. ]        positions of points
//   state    [ runs: lower 0 1 2 .. | upper 0 1 2 .. ][ runs_of: 1 1 1 .. ]         for hood_merge, then
//            [ ranges: lower (first, last) of block 0 .. | upper .. ]               indices in corners of the side
//
// Of equal points the first is kept. A strip is Andrew's monotone chain; how two are merged is in hood/hood_group.h. Reads
// every point twice (once a side), writes the corners.
// Source: Wagener, "Optimally parallel algorithms for convex hull determination" (1985), in the work-optimal form.
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP ${int(keep)}
#include "hood/hood.h"
#define WG_SIZE ${wg_size}
#define STRIP ${items_per_thread}
#define BLOCK (WG_SIZE * STRIP)

% if variant == "serial":
#include "hood/hood_strip.h"
% else:
#define HOOD_ITEMS WG_SIZE
#define SORTED(i) (i)
#include "hood/hood_group.h"
% endif
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void hood_blocks(global const real_t *points, const uint n, const uint block_size, const uint blocks,
                 global uint *corners, global uint *state)
{
    global uint *runs = state, *runs_of = state + 2 * blocks;
    global uint *ranges = state + 4 * blocks;
    const uint side = get_group_id(0) & 1, block = get_group_id(0) / 2, begin = block * block_size;
    const uint count = min(block_size, n - begin);
    corners += (ulong)side * n + begin;
% if variant == "serial":
    const uint size = item_strip(points, begin, count, side, corners);
% else:
    local real_t x[BLOCK], y[BLOCK];
    local ushort hood[BLOCK];
    local ushort sizes[WG_SIZE], tangent_p[WG_SIZE], tangent_q[WG_SIZE], tried_p[WG_SIZE], tried_q[WG_SIZE];
    const uint lid = get_local_id(0);
    for (uint i = lid; i < count; i += WG_SIZE) {
        const point_t p = CLGEOM_POINT(points, begin + i);
        x[i] = p.x;
        y[i] = p.y;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const merge_t merge = {sizes, tangent_p, tangent_q, tried_p, tried_q};
    const uint size = group_hood(x, y, 0, count, hood, merge, lid, side);
    for (uint k = lid; k < size; k += WG_SIZE)
        corners[k] = begin + hood[k];
% endif
    if (get_local_id(0) == 0) {
        vstore2((uint2)(begin, begin + size - 1), side * blocks + block, ranges);
        runs[side * blocks + block] = block;
        runs_of[side * blocks + block] = 1;
    }
}
