<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// outward_remove: takes the chosen vertices out of their rings, and lists their neighbours, whose keys are new: all in
// `dirty`, and those that are in no list in that of the next limit, too.
//
// Reads 20 bytes a vertex; writes 16 bytes, and 8 a neighbour.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#define PUTS 2
#include "rings/each.h"
#include "rings/sums.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_remove(global const uint *chosen, global const uint *mask_of, const uint levels, const uint round,
                    global const uint *areas, global uint *previous, global uint *next, volatile global uint *keys,
                    global uint *dirty, global uint *left, volatile global uint *state)
{
    const uint n = state[CHOSEN + round], lid = get_local_id(0);
    SUMS(sums);
    LIST(changed, dirty, &state[DIRTY + round]);
    LIST(staying, left, &state[LEFT]);
    EACH_ROUND(base, n) {
        sums_begin(sums, state, mask_of[chosen[base]] / levels, lid);
        GROUP_BARRIER();
        OF_ROUND(i, base) {
            const uint vertex = chosen[i], p = previous[vertex], q = next[vertex];
            sums_gone(sums, state, mask_of[vertex] / levels, areas[vertex]);
            next[p] = q;
            previous[q] = p;
            keys[vertex] = NEVER;   // it may be listed for a few rounds
            for (uint side = 0; side < 2; ++side) {
                const uint beside = side ? q : p, old = atomic_xchg(&keys[beside], NEW);
                list_put(&changed, old != NEW, beside);
                list_put(&staying, old == NEVER, beside);
            }
        }
        list_next(&changed, lid);
        list_next(&staying, lid);
        sums_end(sums, state, lid);
    }
    list_end(&changed, lid);
    list_end(&staying, lid);
}
