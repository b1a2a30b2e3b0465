<%page args="by_area=True, last=False, limited=False, by_polygon=False, variant='group', wg_size=256, items_per_thread=1"/>\
// outward_take: marks the removals that come before a budget is met, in taken[vertex]: WITHIN for that of the area,
// NEEDED for those of vertices. `limited`: only among those WITHIN. `last`: the removals are those with the last limit.
#define LAST_LIMIT ${int(last)}
#define BY_AREA ${int(by_area)}
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#define BY_POLYGON ${int(by_polygon)}
#include "rings/items.h"
#include "rings/cut.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_take(global const uint *mask_of, const uint levels, global const uint *ring_of, global const uint *firsts,
                  const uint polygons, global const uint *order, const uint n, global const ulong *sums,
                  global const ulong *bounds, global const ulong *rooms, global const uint *begins,
                  global const ulong *facts, const uint level, const ulong budget, global const uint *state,
                  global uchar *taken)
{
    const range_t items = items_of(n);
    for (uint i = items.begin; i < items.end; i += items.stride) {
        const uint vertex = order[i], owner = OWNER(vertex);
#if BY_AREA
#if LAST_LIMIT
        global const uint *const own = state + MAPS + MAP_WORDS * owner;
        const ulong had = (ulong)own[HAD + 1] << 32 | own[HAD];
#else
        const ulong had = 0;
#endif
        if (had + sums[i + 1] - bounds[2 * owner] <= rooms[owner * levels + level])
            taken[vertex] |= WITHIN;
#else
#if BY_POLYGON
        const uint count = begins[firsts[owner + 1]] - begins[firsts[owner]];
#else
        const uint mask = owner * levels + level, count = (uint)(facts[3 + 2 * mask] - facts[1 + 2 * mask]);
#endif
        if (sums[i] - bounds[2 * owner] + budget < count${" && (taken[vertex] & WITHIN)" if limited else ""})
            taken[vertex] |= NEEDED;
#endif
    }
}
