<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// outward_advance: the next limit of each map, or its end: it has lost the vertices or gained the area that its goal asks
// for, or nothing more can go. One group.
//
//   limit 1, 2, 3, 4, 6, 8, 11 ..    each about 5/4 of the one before, or the least key above it if nothing has gone
#include "portable.h"
#define WG_SIZE ${wg_size}
#include "rings/state.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_advance(global const ulong *rooms, global const int *wanted, const uint maps, const uint levels,
                     volatile global uint *state)
{
    local uint active, most, cut;
    const uint lid = get_local_id(0);
    if (lid == 0)
        active = most = cut = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint mine = 0, largest = 0, ended = 0;
    for (uint map = lid; map < maps; map += WG_SIZE) {
        volatile global uint *const own = state + MAPS + MAP_WORDS * map;
        if (own[BEYOND] == 0)
            continue;
        const uint mask = map * levels + state[LEVEL], limit = own[BEYOND] - 1, pending = own[PENDING], gone = own[GONE];
        const ulong added = (ulong)own[ADDED + 1] << 32 | own[ADDED];
        ulong following = limit * 5ul / 4 + 1;
        int done = limit >= LARGEST;
        if (gone == own[WAS]) {
            done |= pending == NEVER;
            following = max(following, (ulong)pending);
        }
        if (!state[ALL])
            done |= added > rooms[mask] || (int)gone >= wanted[mask];
        own[BEYOND] = done ? 0 : (uint)min(following, (ulong)LARGEST) + 1;
        own[PENDING] = NEVER;
        own[WAS] = gone;
        if (done) {
            ended += own[REMOVALS];
        } else {
            own[HAD] = own[ADDED];
            own[HAD + 1] = own[ADDED + 1];
            own[PASSED] = state[ROUND] + ROUNDS;
            own[REMOVALS] = 0;
        }
        mine += !done;
        largest = max(largest, limit);
    }
    if (mine)
        atomic_add(&active, mine);
    if (ended)
        atomic_add(&cut, ended);
    if (largest)
        atomic_max(&most, largest);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);   // all have read what follows changes
    if (lid > 0)
        return;
    state[ALIVE] = active ? state[LEFT] : 0;
    state[LEFT] = 0;
    if (state[ACTIVE])
        state[ROUND] += ROUNDS;
    state[ACTIVE] = active;
    state[MOST] = max(state[MOST], most);
    state[CUT] += cut;
    state[CANDIDATES] = 0;
    for (uint round = 0; round < ROUNDS; ++round) {
        state[REMOVED] += state[CHOSEN + round];
        state[CHOSEN + round] = state[DIRTY + round] = 0;
    }
}
