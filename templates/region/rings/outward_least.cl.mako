<%page args="by_polygon=False, variant='group', wg_size=256, items_per_thread=1"/>\
// outward_least: the most vertices that a map, or a polygon, of a level has after all of its removals, in state[LEAST].
#define BY_POLYGON ${int(by_polygon)}
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"
#include "rings/state.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_least(global const uint *owners, global const uint *firsts, global const uint *begins,
                   global const ulong *facts, const uint n, const uint levels, const uint level,
                   global const ulong *bounds, volatile global uint *state)
{
    const range_t items = items_of(n);
    for (uint i = items.begin; i < items.end; i += items.stride) {
#if BY_POLYGON
        if (owners[i] % levels != level)
            continue;
        const uint count = begins[firsts[i + 1]] - begins[firsts[i]];
#else
        const uint mask = i * levels + level, count = (uint)(facts[3 + 2 * mask] - facts[1 + 2 * mask]);
#endif
        const uint least = count - (uint)(bounds[2 * i + 1] - bounds[2 * i]);
        if (state[LEAST] < least)   // it only rises
            atomic_max(&state[LEAST], least);
    }
}
