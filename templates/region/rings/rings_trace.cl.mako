<%page args="variant='serial', wg_size=1, items_per_thread=1"/>\
// rings_trace: for each edge the least edge of its ring and its place in the ring: a work-item follows the rings of a map.
//
//   edges      | 0  1  2  3  4  5 ..      following: 0 -> 1 -> 5 -> 0, ..
//   leaders    | 0  0  2  2  2  0 ..      the least edge of the ring
//   places     | 0  2  0  0  2  4 ..      corners of the ring before the edge's own, counted from its least edge
//   heads      | 6' 0  4' 0  0  0 .. 0    at its least edge the number of its corners and RING; 0 at others, and at the end
//
// For devices with few work-items, such as CPUs; rings_jump and rings_rank compute the same elsewhere.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define NONE 0xffffffff
#define RING (1ul << 32)

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rings_trace(global const uint *following, global const uchar *turns, global const uint *starts, const uint masks,
                 const uint rows, global uint *leaders, global uint *places, global ulong *heads)
{
    for (uint mask = get_global_id(0); mask < masks; mask += get_global_size(0)) {
        const uint begin = 2 * starts[mask * rows], end = 2 * starts[(mask + 1) * rows];
        for (uint edge = begin; edge < end; ++edge) {
            leaders[edge] = NONE;
            heads[edge] = 0;
        }
        if (mask == masks - 1)
            heads[end] = 0;
        for (uint leader = begin; leader < end; ++leader) {
            if (leaders[leader] != NONE)
                continue;
            uint edge = leader, place = 0;
            do {
                leaders[edge] = leader;
                places[edge] = place;
                place += 2 * (turns[edge] & 1);
                edge = following[edge];
            } while (edge != leader);
            heads[leader] = RING | place;
        }
    }
}
