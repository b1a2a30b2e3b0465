<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// classes_begin: the states of rings_jump of all halves of arcs, each a chain of its own, and a list of those that go on.
//
// On CPUs a half first walks along its ring: most rings have few halves, and are done. Others begin with a window of WALK
// halves.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"
#define WALK (SERIAL ? 16 : 1)

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_begin(global const uint *before, const uint n, global uint4 *states, global uint4 *others,
                   global uint *list, volatile global uint *lengths)
{
    const uint lid = get_local_id(0);
    GROUP_MEMORY held_t held_own;
    list_t own = list_of(list, lengths, &held_own);
    const range_t rounds = rounds_of(n);
    for (uint base = rounds.begin; base < rounds.end; base += rounds.stride) {
        const range_t items = items_of_round(&rounds, base);
        for (uint one = items.begin; one < items.end; one += items.stride) {
            uint4 state = (uint4)(before[one], one, 0, 1);
            for (; state.x != one && state.w < WALK; ++state.w) {
                if (state.x < state.y) {
                    state.y = state.x;
                    state.z = state.w;
                }
                state.x = before[state.x];
            }
            states[one] = state;
            if (state.x == one)
                others[one] = state;
            list_put(&own, state.x != one, one);
        }
        list_next(&own, lid);
    }
    list_end(&own, lid);
}
