<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// outward_remove: takes the chosen vertices out of their rings, and lists their neighbours, whose keys are new: all in
// `dirty`, and those that are in no list in that of the next limit, too.
//
// Reads 20 bytes a vertex and 16 a neighbour; writes 12 bytes a neighbour.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#define PUTS 2
#include "rings/items.h"
#include "rings/sums.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_remove(global const uint *chosen, global const uint *mask_of, global const ulong *facts, const uint levels,
                    const uint round, global uint4 *nodes, global uint *dirty, global uint *left,
                    volatile global uint *state)
{
    const uint n = state[CHOSEN + round], lid = get_local_id(0);
    GROUP_MEMORY round_t sums_of_map;
    const sums_t sums = {state, mask_of, facts, levels, &sums_of_map};
    GROUP_MEMORY held_t held_changed;
    list_t changed = list_of(dirty, &state[DIRTY + round], &held_changed);
    GROUP_MEMORY held_t held_staying;
    list_t staying = list_of(left, &state[LEFT], &held_staying);
    const range_t rounds = rounds_of(n);
    for (uint base = rounds.begin; base < rounds.end; base += rounds.stride) {
        sums_begin(&sums, chosen[base], lid);
        GROUP_BARRIER();
        const range_t items = items_of_round(&rounds, base);
        for (uint i = items.begin; i < items.end; i += items.stride) {
            const uint vertex = chosen[i];
            const uint4 node = nodes[vertex];
            volatile global uint *const p = NODE_WORDS(nodes, node.BEFORE), *const q = NODE_WORDS(nodes, node.BEHIND);
            // Neighbours of a vertex that goes are there, so this is never true. It reads beside what is written below, which
            // saves a fifth of the time on an H200: writes to what is not in the cache are slow.
            if (((global const uint *)p)[ROUND_WORD] | ((global const uint *)q)[ROUND_WORD])
                continue;
            p[BEHIND_WORD] = node.BEHIND;
            q[BEFORE_WORD] = node.BEFORE;
            const uint before = atomic_xchg(&p[KEY_WORD], NEW), behind = atomic_xchg(&q[KEY_WORD], NEW);
            sums_gone(&sums, sums_map(&sums, vertex), node.KEY | (node.GONE_IN & LAST));
            list_put(&changed, before != NEW, node.BEFORE);
            list_put(&changed, behind != NEW, node.BEHIND);
            list_put(&staying, before == NEVER, node.BEFORE);
            list_put(&staying, behind == NEVER, node.BEHIND);
        }
        lists_next(&changed, &staying, lid);
        sums_end(&sums, lid);
    }
    list_end(&changed, lid);
    list_end(&staying, lid);
}
