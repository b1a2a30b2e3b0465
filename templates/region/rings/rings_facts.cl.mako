<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// rings_facts: for each mask the corners before it, and the cells before it; and of all masks.
//
//   facts     | polygons | corners, cells before mask 0 | before mask 1 | .. | in all |
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rings_facts(global const uint *starts, global const uint *chains, global const ulong *before,
                 global const ulong *areas, const uint masks, const uint rows, global ulong *facts)
{
    const range_t items = items_of(masks + 1);
    for (uint mask = items.begin; mask < items.end; mask += items.stride) {
        const uint corner = (uint)before[chains[2 * starts[mask * rows]]];
        facts[1 + 2 * mask] = corner;
        facts[2 + 2 * mask] = areas[corner / 2];
    }
}
