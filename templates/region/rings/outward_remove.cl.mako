<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// outward_remove: takes the chosen vertices out of their rings, and lists their neighbours, whose keys are new.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/each.h"
#include "rings/state.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_remove(global const uint *chosen, global const uint *mask_of, const uint levels, const uint round,
                    global const uint *areas, global uint *previous, global uint *next, volatile global uint *keys,
                    global uint *dirty, volatile global uint *state)
{
    const uint n = state[CHOSEN + round], lid = get_local_id(0);
    LIST(own);
    EACH_TOGETHER(base, n) {
        uint p = 0, q = 0;
        int first = 0, second = 0;
        if (base + lid < n) {
            const uint vertex = chosen[base + lid], area = areas[vertex] & ~LAST;
            p = previous[vertex];
            q = next[vertex];
            next[p] = q;
            previous[q] = p;
            keys[vertex] = NEVER;   // it may be listed for a few rounds
            first = atomic_xchg(&keys[p], NEW) != NEW;
            second = atomic_xchg(&keys[q], NEW) != NEW;
            volatile global uint *const sums = state + MAPS + MAP_WORDS * (mask_of[vertex] / levels);
            atomic_add(&sums[GONE], areas[vertex] & LAST ? 3u : 1u);
            if (atomic_add(&sums[ADDED], area) > 0xffffffffu - area)
                atomic_inc(&sums[ADDED + 1]);
        }
        list_add_two(own, first, p, dirty, &state[DIRTY + round], second, q, dirty, &state[DIRTY + round], lid);
    }
    list_end(own, dirty, &state[DIRTY + round], dirty, &state[DIRTY + round]);
}
