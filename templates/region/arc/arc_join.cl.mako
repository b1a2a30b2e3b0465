<%page args="real='float', filtered=True, variant='group', wg_size=64, items_per_thread=1"/>\
// arc_join: the hull of each segment from those of its blocks; a work-group to a segment and side.
//
//   blocks   | segment 0: c0 c1 c2 .. | c0 c1 .. | .. | segment 1: ..       corners of ${"`fan`"} blocks to a segment, apart
//   corners  [ segment 0: c0 c1 ..                    | c0 ..               see arc/arc_segments.h
//
// Gathers the corners, then merges hulls of strips as arc/arc_group.h does. Reads and writes every corner.
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP_COLLINEAR 0
#include "hood/hood.h"
#include "arc/arc_turn.h"
#define WG_SIZE ${wg_size}
#define POINT(points, id) CLGEOM_LOAD2(${real}, points, id)
#include "arc/arc_group.h"
#define LONG 32                 // longer runs of corners are copied by all

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_join(global const real_t *points, const uint m, global const uint *cuts, const uint segments, const uint fan,
              global const uint *block_corners, global const uint *block_ranges, global uint *corners,
              global uint *ranges)
{
    local uint values[2 * WG_SIZE], parts[3 * WG_SIZE];
    const uint lid = get_local_id(0), side = get_group_id(0) & 1, s = get_group_id(0) / 2, begin = cuts[s];
    const uint room = m - begin;                                      // in disorder blocks may overlap
    global uint *list = corners + (size_t)side * m + begin;
    global const uint *from = block_corners + (size_t)side * m;
    const size_t first_block = ((size_t)side * segments + s) * fan;
    uint total = 0;
    for (uint base = 0; base < fan; base += WG_SIZE) {
        const uint2 range = base + lid < fan ? vload2(first_block + base + lid, block_ranges) : (uint2)(1, 0);
        const uint size = range.y + 1 - range.x;                      // 0 for (1, 0)
        uint all;
        const uint at = total + group_before(size, lid, values, &all);
        total += all;
        if (size <= LONG)
            for (uint k = 0; k < size && at + k < room; ++k)
                list[at + k] = from[range.x + k];
        parts[3 * lid] = range.x;
        parts[3 * lid + 1] = at;
        parts[3 * lid + 2] = size;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint other = 0; other < WG_SIZE; ++other)
            if (parts[3 * other + 2] > LONG)
                for (uint k = lid; k < parts[3 * other + 2] && parts[3 * other + 1] + k < room; k += WG_SIZE)
                    list[parts[3 * other + 1] + k] = from[parts[3 * other] + k];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    ARC_FENCE();
    const uint size = group_hull_of_list(points, list, min(total, room), side, lid, values, parts);
    if (lid == 0)
        vstore2(size ? (uint2)(begin, begin + size - 1) : (uint2)(1, 0), (size_t)side * segments + s, ranges);
}
