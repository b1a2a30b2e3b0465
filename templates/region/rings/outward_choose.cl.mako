<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// outward_choose: the vertices that are removed in a round: of least key (and least mixed number) among their neighbours.
//
//   keys    5  3  4  .  2        no two neighbours are chosen, so all can be removed at once, in any order
//              ^        ^        ("." is above the limit). Of a ring of four, one is chosen
//
// rounds[vertex] becomes the number of the round, areas[vertex] its key, with LAST added if only a hole's last two vertices
// remain: the hole is then filled.
#include "portable.h"
#include "rings/state.h"
#define WG_SIZE ${wg_size}
#define LAST 0x80000000u

// Whether a vertex goes before another one. Mixed numbers let many of equal keys go at once.
inline int is_before(uint key, uint vertex, uint other_key, uint other)
{
    return key < other_key || (key == other_key && vertex * 2654435761u < other * 2654435761u);
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_choose(global const uint *alive, global const uint *previous,
                    global const uint *next, global const uint *keys, const uint limit, const uint round,
                    global const uint *state, global uint *rounds, global uint *areas)
{
    const uint n = state[COUNT];
% if variant == "serial":
    const uint share = (n + get_global_size(0) - 1) / get_global_size(0);
    const uint begin = min(get_global_id(0) * share, (size_t)n), end = begin + min(share, n - begin), step = 1;
% else:
    const uint begin = get_global_id(0), end = n, step = get_global_size(0);
% endif
    for (uint i = begin; i < end; i += step) {
        const uint vertex = alive[i], key = keys[vertex];
        if (key > limit)
            continue;
        const uint p = previous[vertex], q = next[vertex], beyond = previous[p];
        if (!is_before(key, vertex, keys[p], p) || !is_before(key, vertex, keys[q], q))
            continue;
        if (beyond == next[q] && beyond != vertex && !is_before(key, vertex, keys[beyond], beyond))
            continue;
        rounds[vertex] = round;
        areas[vertex] = key | (beyond == q ? LAST : 0);
    }
}
