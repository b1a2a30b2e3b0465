<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// outward_choose: the candidates that are removed in a round: of least key among their neighbours, see rings/measure.h.
//
// Their nodes get the number of the round.
// Reads 20 bytes a candidate, and those of its neighbours where it has not gone; writes 8 bytes a chosen one.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#define NESTED 0
#define BOUNDED 0
#define WIDE 0
#include "rings/items.h"
#include "rings/measure.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_choose(global const uint *candidates, global const uint *mask_of, global const ulong *facts,
                    const uint round, global uint4 *nodes, global uint *chosen, volatile global uint *state)
{
    const uint n = state[CANDIDATES], number = state[ROUND] + round + 1, lid = get_local_id(0);
    GROUP_MEMORY held_t held_own;
    list_t own = list_of(chosen, &state[CHOSEN + round], &held_own);
    const range_t rounds = rounds_of(n);
    for (uint base = rounds.begin; base < rounds.end; base += rounds.stride) {
        const range_t items = items_of_round(&rounds, base);
        for (uint i = items.begin; i < items.end; i += items.stride) {
            const uint vertex = candidates[i];
            const uint4 node = nodes[vertex];
            uint last = 0;
            if (node.GONE_IN || node.KEY >= UNCHECKED || !is_chosen(nodes, vertex, node, mask_of, facts, &last))
                continue;
            // listed twice, it goes once
            list_put(&own, !atomic_xchg(&NODE_WORDS(nodes, vertex)[ROUND_WORD], number | last), vertex);
        }
        list_next(&own, lid);
    }
    list_end(&own, lid);
}
