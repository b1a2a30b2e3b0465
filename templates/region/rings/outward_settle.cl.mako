<%page args="flag=0, last=False, variant='group', wg_size=256, items_per_thread=1"/>\
// outward_settle: the removals that are made: those with the flag, all if it is 0; with `last` also those before the last
// limit of their map. Marks the holes that vanish by them.
#define LAST_LIMIT ${int(last)}
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"
#include "rings/level.h"
#include "rings/state.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_settle(global const uint *before, global const ulong *facts, const uint maps, const uint levels,
                    const uint level, global const uint *ring_of, global const uint4 *nodes, global const uint *state,
                    global uchar *taken, global uchar *vanished)
{
    const level_t own = level_of(before, facts, maps, levels, level);
    const uint n = count_of(&own);
    uint map = 0;
    const range_t items = near_items_of(n);
    for (uint i = items.begin; i < items.end; i += items.stride) {
        const uint vertex = corner_of(&own, i, &map);
        const uint gone = nodes[vertex].GONE_IN, round = gone & ~LAST;
#if LAST_LIMIT
        const int goes = round > 0 && (round <= state[MAPS + MAP_WORDS * map + PASSED] || (taken[vertex] & ${flag}));
#else
        const int goes = round > 0${f" && (taken[vertex] & {flag})" if flag else ""};
#endif
        taken[vertex] = goes;
        if (goes && (gone & LAST))
            vanished[ring_of[vertex]] = 1;
    }
}
