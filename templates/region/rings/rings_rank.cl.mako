<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// rings_rank: for each chain its place among the corners of its ring, and the number of those, from the final states.
//
//   leaders    | 0  0  2  2  2  0 ..      the least chain of the ring
//   places     | 0  4  0  8  2  6 ..      corners of the ring before the chain, counted from the least chain
//   heads      | 8' 0  9' 0  0  0 .. 0    at the least chain the number of the ring's corners and RING; 0 at others, and
#include "portable.h"
#define WG_SIZE ${wg_size}                 // at the end
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"
#define RING (1ul << 32)

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rings_rank(global const uint4 *states, const uint n, global uint *leaders, global uint *places, global ulong *heads)
{
    const range_t items = items_of(n);
    for (uint chain = items.begin; chain < items.end; chain += items.stride) {
        const uint4 state = states[chain];
        const int leads = state.y == chain;
        leaders[chain] = state.y;
        places[chain] = leads ? 0 : states[state.y].w - state.z;
        heads[chain] = leads ? RING | state.w : 0;
        if (chain == n - 1)
            heads[n] = 0;
    }
}
