<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// outward_list: the removed corners of a level in order, from the scan of outward_gone.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"
#include "rings/level.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_list(global const uint *before, global const ulong *facts, const uint maps, const uint levels,
                  const uint level, global const uint *gone, global uint *removed)
{
    const level_t own = level_of(before, facts, maps, levels, level);
    const uint n = count_of(&own);
    uint map = 0;
    const range_t items = near_items_of(n);
    for (uint i = items.begin; i < items.end; i += items.stride)
        if (gone[i + 1] != gone[i])
            removed[gone[i]] = corner_of(&own, i, &map);
}
