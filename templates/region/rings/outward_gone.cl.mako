<%page args="last=False, variant='group', wg_size=256, items_per_thread=1"/>\
// outward_gone: 1 for each corner of a level that is removed, 0 for others and at the end; with `last` only for those that
// go with the last limit of their map.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"
#include "rings/level.h"
#include "rings/state.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_gone(global const uint *before, global const ulong *facts, const uint maps, const uint levels,
                  const uint level, global const uint4 *nodes, global const uint *state, global uint *gone)
{
    const level_t own = level_of(before, facts, maps, levels, level);
    const uint n = count_of(&own);
    uint map = 0;
    const range_t items = near_items_of(n + 1);
    for (uint i = items.begin; i < items.end; i += items.stride) {
        const uint round = i < n ? nodes[corner_of(&own, i, &map)].GONE_IN & ~LAST : 0;
        gone[i] = round > ${"state[MAPS + MAP_WORDS * map + PASSED]" if last else "0"};
    }
}
