<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// outward_alive: the list of the vertices that remain, in any order: nothing depends on it.
//
//   alive   | 7 3 9 .. | ..        a work-item takes a share of the list, and room for what remains of it
#include "portable.h"
#include "rings/state.h"
#define WG_SIZE ${wg_size}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_alive(global const uint *alive, global const uint *rounds,
                   global uint *left, volatile global uint *state)
{
    const uint n = state[COUNT], share = (n + get_global_size(0) - 1) / get_global_size(0);
    const uint begin = min(get_global_id(0) * share, (size_t)n), end = begin + min(share, n - begin);
    uint mine = 0;
    for (uint i = begin; i < end; ++i)
        mine += rounds[alive[i]] == 0;
    if (mine == 0)
        return;
    uint at = atomic_add(&state[LEFT], mine);
    for (uint i = begin; i < end; ++i)
        if (rounds[alive[i]] == 0)
            left[at++] = alive[i];
}
