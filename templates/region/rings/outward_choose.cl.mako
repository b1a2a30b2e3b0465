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
#include "rings/each.h"
#include "rings/measure.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_choose(global const uint *candidates, global const uint *mask_of, global const ulong *facts,
                    const uint round, global uint4 *nodes, global uint *chosen, volatile global uint *state)
{
    const uint n = state[CANDIDATES], number = state[ROUND] + round + 1, lid = get_local_id(0);
    LIST(own, chosen, &state[CHOSEN + round]);
    EACH_ROUND(base, n) {
        SOME_OF_ROUND(i, base) {
            uint vertices[AT_ONCE];
            uint4 some[AT_ONCE], before[AT_ONCE], behind[AT_ONCE];
            #pragma unroll
            for (uint k = 0; k < AT_ONCE; ++k)
                vertices[k] = ELEMENT(candidates, i, k, base_end);
            #pragma unroll
            for (uint k = 0; k < AT_ONCE; ++k)
                some[k] = vertices[k] == NONE ? (uint4)(0, 0, 0, 1) : nodes[vertices[k]];
            #pragma unroll
            for (uint k = 0; k < AT_ONCE; ++k)
                if (!some[k].GONE_IN) {
                    before[k] = nodes[some[k].BEFORE];
                    behind[k] = nodes[some[k].BEHIND];
                }
            #pragma unroll
            for (uint k = 0; k < AT_ONCE; ++k) {
                uint last = 0;
                if (some[k].GONE_IN || some[k].KEY >= UNCHECKED
                    || !is_chosen(nodes, vertices[k], some[k], before[k], behind[k], mask_of, facts, &last))
                    continue;
                // listed twice, it goes once
                volatile global uint *const round_of = NODE_WORDS(nodes, vertices[k]) + ROUND_WORD;
                list_put(&own, !atomic_xchg(round_of, number | last), vertices[k]);
            }
        }
        list_next(&own, lid);
    }
    list_end(&own, lid);
}
