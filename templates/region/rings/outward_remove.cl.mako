<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// outward_remove: takes the chosen vertices out of their rings, and lists their neighbours, whose keys are new: all in
// `dirty`, and those that are in no list in that of the next limit, too.
//
// Reads 20 bytes a vertex; writes 16 bytes, and 8 a neighbour. A work-item adds up what goes of a map.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#define PUTS 2
#include "rings/each.h"
#include "rings/state.h"

// Adds removals, vertices that are gone, and twice an area to the sums of a map.
inline void add_up(volatile global uint *state, uint map, uint removals, uint gone, ulong added)
{
    if (removals == 0)
        return;
    volatile global uint *const sums = state + MAPS + MAP_WORDS * map;
    const uint low = (uint)added, high = added >> 32;
    atomic_add(&sums[REMOVALS], removals);
    atomic_add(&sums[GONE], gone);
    const uint carry = low > 0 && atomic_add(&sums[ADDED], low) > 0xffffffffu - low;
    if (high + carry > 0)
        atomic_add(&sums[ADDED + 1], high + carry);
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_remove(global const uint *chosen, global const uint *mask_of, const uint levels, const uint round,
                    global const uint *areas, global uint *previous, global uint *next, volatile global uint *keys,
                    global uint *dirty, global uint *left, volatile global uint *state)
{
    const uint n = state[CHOSEN + round], lid = get_local_id(0);
    uint map = 0xffffffff, removals = 0, gone = 0;
    ulong added = 0;
    LIST(changed, dirty, &state[DIRTY + round]);
    LIST(staying, left, &state[LEFT]);
    EACH_ROUND(base, n) {
        OF_ROUND(i, base) {
            const uint vertex = chosen[i], area = areas[vertex], own = mask_of[vertex] / levels;
            const uint p = previous[vertex], q = next[vertex];
            next[p] = q;
            previous[q] = p;
            keys[vertex] = NEVER;   // it may be listed for a few rounds
            for (uint side = 0; side < 2; ++side) {
                const uint beside = side ? q : p, old = atomic_xchg(&keys[beside], NEW);
                list_put(&changed, old != NEW, beside);
                list_put(&staying, old == NEVER, beside);
            }
            if (own != map) {
                add_up(state, map, removals, gone, added);
                map = own;
                removals = gone = 0;
                added = 0;
            }
            ++removals;
            gone += area & LAST ? 3 : 1;
            added += area & ~LAST;
        }
        list_next(&changed, lid);
        list_next(&staying, lid);
    }
    add_up(state, map, removals, gone, added);
    list_end(&changed, lid);
    list_end(&staying, lid);
}
