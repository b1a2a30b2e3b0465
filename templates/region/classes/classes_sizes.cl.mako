<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// classes_sizes: at the first chain of each arc the number of its corners, and ARC; 0 at others and at the end.
//
//   states   (jump, first chain, steps before the chain, steps of a closed arc), twice the steps: see rings_jump
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#define ARC (1ul << 32)
#include "classes/lines.h"
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_sizes(global const uint4 *states, global const uint *firsts, global const uchar *turns, const uint n,
                   const uint open, global ulong *sizes)
{
    const range_t items = items_of(n);
    for (uint chain = items.begin; chain < items.end; chain += items.stride) {
        const uint4 state = states[chain];
        if (turns[firsts[chain]] & TAIL)
            sizes[state.y] = ARC | (state.z / 2 + 2);
        else if (state.y == chain && chain >= open)
            sizes[chain] = ARC | (state.w / 2 + 1);
        if (state.y != chain)
            sizes[chain] = 0;
        if (chain == n - 1)
            sizes[n] = 0;
    }
}
