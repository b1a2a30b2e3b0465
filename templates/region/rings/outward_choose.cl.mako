<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// outward_choose: the candidates that are removed in a round: of least key among their neighbours, see rings/measure.h.
//
// rounds[vertex] becomes the number of the round, areas[vertex] its key, with LAST added if only a hole's last two vertices
// remain: the hole is then filled.
// Reads 8 bytes a candidate, and 24 where it has not gone; writes 12 bytes a chosen one.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#define NESTED 0
#define BOUNDED 0
#define WIDE 0
#include "rings/each.h"
#include "rings/measure.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_choose(global const uint *candidates, global const uint *mask_of, global const ulong *facts,
                    global const uint2 *links, global const uint *keys, const uint round,
                    volatile global uint *rounds, global uint *areas, global uint *chosen, volatile global uint *state)
{
    const uint n = state[CANDIDATES], number = state[ROUND] + round + 1, lid = get_local_id(0);
    LIST(own, chosen, &state[CHOSEN + round]);
    EACH_ROUND(base, n) {
        OF_ROUND(i, base) {
            const uint vertex = candidates[i], key = keys[vertex];
            uint area = 0;
            if (key >= UNCHECKED || !is_chosen(links, keys, vertex, key, mask_of, facts, &area))
                continue;
            areas[vertex] = area;
            // listed twice, it goes once
            list_put(&own, atomic_xchg(&rounds[vertex], number) != number, vertex);
        }
        list_next(&own, lid);
    }
    list_end(&own, lid);
}
