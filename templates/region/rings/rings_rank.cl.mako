<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// rings_rank: the leaders, places and heads of rings_trace, from the states of the last round of rings_jump.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define RING (1ul << 32)

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rings_rank(global const uint *following, global const uchar *turns, const uint n, global const uint4 *states,
                global uint *leaders, global uint *places, global ulong *heads)
{
    for (uint edge = get_global_id(0); edge < n; edge += get_global_size(0)) {
        const uint leader = states[edge].y;
        const uint all = 2 * (turns[leader] & 1) + states[following[leader]].z;
        leaders[edge] = leader;
        places[edge] = edge == leader ? 0 : all - states[edge].z;
        heads[edge] = edge == leader ? RING | all : 0;
        if (edge == n - 1)
            heads[n] = 0;
    }
}
