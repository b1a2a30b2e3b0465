<%page args="variant='serial', wg_size=1, items_per_thread=1"/>\
// rings_trace: marks the least edge of each ring: a work-item follows the rings of a map.
//
//   edges      | 0  1  2  3  4  5 ..      following: 0 -> 1 -> 5 -> 0, ..
//   turns      | 8  .  8  .  .  . ..      FIRST is added at the least edge of a ring, VISITED at all
//
// For devices with few work-items, such as CPUs: each chain is a ring. Elsewhere rings_link marks shorter chains.
#include "portable.h"
#define WG_SIZE ${wg_size}
#include "rings/chains.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rings_trace(global const uint *following, global const uint *starts, const uint masks, const uint rows,
                 global uchar *turns)
{
    for (uint mask = get_global_id(0); mask < masks; mask += get_global_size(0)) {
        const uint begin = 2 * starts[mask * rows], end = 2 * starts[(mask + 1) * rows];
        for (uint first = begin; first < end; ++first) {
            if (turns[first] & VISITED)
                continue;
            turns[first] |= FIRST;
            for (uint edge = first; !(turns[edge] & VISITED); edge = following[edge])
                turns[edge] |= VISITED;
        }
    }
}
