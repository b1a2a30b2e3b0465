<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// outward_remove: takes the chosen vertices out of their rings, and asks for new keys of their neighbours.
#include "portable.h"
#include "rings/state.h"
#define WG_SIZE ${wg_size}
#define LAST 0x80000000u
#define NEVER 0xffffffffu
#define NEW 0xfffffffeu

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_remove(global const uint *alive, global const uint *masks, const uint round,
                    global const uint *rounds, global const uint *areas, global uint *previous, global uint *next,
                    volatile global uint *keys, volatile global uint *state)
{
    const uint n = state[COUNT];
% if variant == "serial":
    const uint share = (n + get_global_size(0) - 1) / get_global_size(0);
    const uint begin = min(get_global_id(0) * share, (size_t)n), end = begin + min(share, n - begin), step = 1;
% else:
    const uint begin = get_global_id(0), end = n, step = get_global_size(0);
% endif
    for (uint i = begin; i < end; i += step) {
        const uint vertex = alive[i];
        if (rounds[vertex] != round)
            continue;
        const uint p = previous[vertex], q = next[vertex];
        next[p] = q;
        previous[q] = p;
        atomic_xchg(&keys[vertex], NEVER);   // it stays in the list for a few rounds
        atomic_xchg(&keys[p], NEW);
        atomic_xchg(&keys[q], NEW);
        volatile global uint *const sums = state + SUMS + 3 * masks[vertex];
        const uint area = areas[vertex] & ~LAST;
        atomic_add(&sums[0], areas[vertex] & LAST ? 3u : 1u);
        if (atomic_add(&sums[1], area) > 0xffffffffu - area)
            atomic_inc(&sums[2]);
    }
}
