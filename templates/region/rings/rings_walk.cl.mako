<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// rings_walk: the corners of each chain, and the chain that follows.
//
//   chain       firsts[chain] -> . -> . -> firsts[jump]      a work-item follows the edges of a chain
//   states      (jump, least chain, corners before the least chain, corners of all): see rings_jump
//
// A ring of one chain is done: its state is in both buffers. Others are listed.
// Reads 5 bytes an edge, near those that neighbours read, and 8 a chain; writes 20 bytes a chain.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/chains.h"
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rings_walk(global const uint *following, global const uchar *turns, global const uint *chains,
                global const uint *firsts, const uint n, global uint4 *states, global uint4 *others, global uint *list,
                volatile global uint *lengths)
{
    const uint lid = get_local_id(0);
    GROUP_MEMORY held_t held_own;
    list_t own = list_of(list, lengths, &held_own);
    const range_t rounds = rounds_of(n);
    for (uint base = rounds.begin; base < rounds.end; base += rounds.stride) {
        const range_t items = items_of_round(&rounds, base);
        for (uint chain = items.begin; chain < items.end; chain += items.stride) {
            uint edge = firsts[chain], corners = 0;
            do
                corners += 2 * (turns[edge] & CORNERS);
            while (follow(following, turns, &edge));
            const uint4 state = (uint4)(chains[edge], chain, 0, corners);
            states[chain] = state;
            if (state.x == chain)
                others[chain] = state;
            list_put(&own, state.x != chain, chain);
        }
        list_next(&own, lid);
    }
    list_end(&own, lid);
}
