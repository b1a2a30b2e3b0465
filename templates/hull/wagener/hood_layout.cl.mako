<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// hood_layout: the position of each run of both hoods in the hull, and the shape of the hull. One work-group.
//
//   state    as hood_merge leaves it: runs are numbers of blocks, each with a range (first, last) of corners
//   offsets  [ lower: corners before run 0, 1 .. | upper: .. ]
//   shape    vertices, dimension, corners of the lower hood, of the upper one
//
// Both hoods are equal when all points are on a line: then they have the same length and the same second corner.
// Reads the runs, twice.
#include "portable.h"
#define WG_SIZE ${wg_size}
#include "group/scan.h"
#define LENGTH(ranges, run) ((ranges)[2 * (run) + 1] - (ranges)[2 * (run)] + 1)

GROUP_SCAN(group_scan_parts, local, uint, GROUP_SUM)

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void hood_layout(global const uint *corners, const uint n, global const uint *state, const uint blocks,
                 global uint *offsets, global uint *shape)
{
    local uint parts[2 * WG_SIZE], totals[2];
    const uint lid = get_local_id(0);
    for (uint side = 0; side < 2; ++side) {
        global const uint *runs = state + side * blocks;
        global const uint *ranges = state + 4 * blocks + 2 * side * blocks;
        const uint count = state[2 * blocks + side * blocks], share = (count + WG_SIZE - 1) / WG_SIZE;
        const uint begin = min(lid * share, count), end = min(begin + share, count);
        uint mine = 0;
        for (uint k = begin; k < end; ++k)
            mine += LENGTH(ranges, runs[k]);
        parts[lid] = mine;
        local const uint *const ends = parts + group_scan_parts(parts, WG_SIZE, lid);
        uint offset = ends[lid] - mine;
        for (uint k = begin; k < end; ++k) {
            offsets[side * blocks + k] = offset;
            offset += LENGTH(ranges, runs[k]);
        }
        if (lid == WG_SIZE - 1)
            totals[side] = ends[lid];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0) {
        uint second[2];
        for (uint side = 0; side < 2; ++side) {
            global const uint *runs = state + side * blocks;
            global const uint *ranges = state + 4 * blocks + 2 * side * blocks;
            const uint2 range = vload2(runs[0], ranges);
            second[side] = totals[side] == 1 ? range.x : range.x < range.y ? range.x + 1 : ranges[2 * runs[1]];
            second[side] = corners[(ulong)side * n + second[side]];
        }
        const int flat = totals[0] == totals[1] && second[0] == second[1];
        shape[0] = flat ? totals[0] : totals[0] + totals[1] - 2;
        shape[1] = flat ? min(totals[0], 2u) - 1 : 2;
        shape[2] = totals[0];
        shape[3] = totals[1];
    }
}
