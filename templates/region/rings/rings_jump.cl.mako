<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// rings_jump: pointer jumping along rings of chains: a round multiplies the number of chains that a chain knows by HOPS + 1.
//
//   chain c knows    c -> . -> . -> jump              a window of its ring
//   it reads         jump -> . -> . -> further        and adds that window to its own, HOPS times
//   state            (jump, least chain, corners before the least chain, corners of all)
//
// Where two windows beside each other have one least chain, they lead round the ring, and it is the ring's least: the chain
// is done, its jump is itself. So is a chain that jumps to one that is done. The least chain of a ring keeps the corners of
// the ring. A chain stays in the list for one more round, after which both buffers have its state; most rings have few
// chains, and are done in the first round.
// J. JaJa, "An Introduction to Parallel Algorithms" (1992), 2.2 and 3.1. Reads and writes 16 to 96 bytes a listed chain.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"
#define HOPS 4

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rings_jump(const uint round, global const uint *list, global const uint4 *known, global uint4 *states,
                global uint *listed, volatile global uint *lengths)
{
    const uint n = lengths[round], lid = get_local_id(0);
    GROUP_MEMORY held_t held_own;
    list_t own = list_of(listed, &lengths[round + 1], &held_own);
    const range_t rounds = rounds_of(n);
    for (uint base = rounds.begin; base < rounds.end; base += rounds.stride) {
        const range_t items = items_of_round(&rounds, base);
        for (uint i = items.begin; i < items.end; i += items.stride) {
            const uint chain = list[i];
            uint4 state = known[chain];
            list_put(&own, state.x != chain, chain);
            for (uint hop = 0; hop < HOPS && state.x != chain; ++hop) {
                const uint4 next = known[state.x];
                if (next.y == state.y) {
                    if (state.y == chain)
                        state.w += next.z;
                    state.x = chain;
                } else {
                    if (next.y < state.y) {
                        state.y = next.y;
                        state.z = state.w + next.z;
                    }
                    state.x = next.x == state.x ? chain : next.x;
                    state.w += next.w;
                }
            }
            states[chain] = state;
        }
        list_next(&own, lid);
    }
    list_end(&own, lid);
}
