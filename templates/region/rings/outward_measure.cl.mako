<%page args="first=True, nested=False, bounded=False, wide=False, variant='group', wg_size=256, items_per_thread=1"/>\
// outward_measure: keys of vertices, and the list of those that may go with their map's limit: the candidates.
//
// `first`: of all listed vertices of the maps that are not done (list 0), which are listed again (list 1) without those that
// stay while their neighbours do. Later rounds with one limit measure only vertices whose neighbours have changed: the others
// keep their keys.
// A few vertices in a hundred need a search of their triangle, a loop of many steps: a group searches those of a round
// together, each by a team of work-items that share its lines.
// Reads 20 bytes a vertex, and 55 where the triangle is new; writes 4 to 12 bytes.
#define FIRST_ROUND ${int(first)}
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#define NESTED ${int(nested)}
#define BOUNDED ${int(bounded)}
#define WIDE ${int(wide)}
#define TEAM ${min(4, wg_size)}   // work-items that search a triangle
#include "rings/items.h"
#include "rings/measure.h"
#include "rings/sums.h"

// Lists a vertex by its key.
inline void put(list_t *going, ${"list_t *staying, " if first else ""}global uint4 *nodes, uint vertex, uint old, uint key)
{
#if FIRST_ROUND
    key = key == STAYS ? NEVER : key;
    list_put(staying, key != NEVER, vertex);
#else
    key = key == NEVER ? STAYS : key;   // it is in the next list
#endif
    list_put(going, key < UNCHECKED, vertex);
    if (key != old)
        NODE_WORDS(nodes, vertex)[KEY_WORD] = key;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_measure(global const int *corners, global const uchar *saddles, global const uint *ring_of,
                     global const uint *begins, global const uint *mask_of, global const ulong *facts, const uint levels,
                     global const uint *bitmaps, global const uint *outer, const uint words, const ulong stride,
                     const float tolerance, const uint round, global const uint *list, global uint *left,
                     global uint4 *nodes, global uint *candidates, volatile global uint *state)
{
    const uint n = state[${"ALIVE" if first else "DIRTY + round"}], lid = get_local_id(0);
    const vertices_t all = {corners, saddles, ring_of, begins, nodes, bitmaps, outer, words, stride, tolerance};
    GROUP_MEMORY round_t sums_of_map;
    const sums_t sums = {state, mask_of, facts, levels, &sums_of_map};
    GROUP_MEMORY held_t held_going;
    list_t going = list_of(candidates, &state[CANDIDATES], &held_going);
<% lists = "&going, &staying" if first else "&going" %>\
% if first:
    GROUP_MEMORY held_t held_staying;
    list_t staying = list_of(left, &state[LEFT], &held_staying);
% endif
#if !SERIAL
    local uint2 searches[ROUND_SIZE];   // (vertex, area)
    local uchar blocked[ROUND_SIZE];
    local uint waiting;
#endif
    const range_t rounds = rounds_of(n);
    for (uint base = rounds.begin; base < rounds.end; base += rounds.stride) {
#if !SERIAL
        if (lid == 0)
            waiting = 0;
#endif
        sums_begin(&sums, list[base], lid);
        GROUP_BARRIER();
        const range_t items = items_of_round(&rounds, base);
        for (uint i = items.begin; i < items.end; i += items.stride) {
            const uint vertex = list[i], map = sums_map(&sums, vertex), beyond = sums_limit(&sums, map);
            if (beyond == 0)
                continue;
            const uint4 node = nodes[vertex];
            if (node.GONE_IN)
                continue;
            uint key = is_open(node.KEY) ? keyed(&all, vertex, node, map) : node.KEY;
            if (is_open(key)) {
                const uint area = key ^ UNCHECKED;
                if (area >= beyond) {
                    sums_wait(&sums, map, area);
#if !SERIAL
                } else if (BOUNDED || area > FEW) {
                    const uint at = atomic_inc(&waiting);
                    searches[at] = (uint2)(vertex, area);
                    blocked[at] = 0;
                    continue;
#endif
                } else {
                    key = is_blocked(&all, vertex, area, map, 0, 1) ? NEVER : area;
                }
            }
            put(${lists}, nodes, vertex, node.KEY, key);
        }
#if !SERIAL
        GROUP_BARRIER();
        for (uint k = lid / TEAM; k < waiting; k += WG_SIZE / TEAM) {
            const uint vertex = searches[k].x;
            if (is_blocked(&all, vertex, searches[k].y, sums_map(&sums, vertex), lid % TEAM, TEAM))
                blocked[k] = 1;
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);   // all have read the nodes whose keys are written next
        for (uint k = lid; k < waiting; k += WG_SIZE)
            put(${lists}, nodes, searches[k].x, NEW, blocked[k] ? NEVER : searches[k].y);
#endif
        ${"lists_next(&going, &staying, lid)" if first else "list_next(&going, lid)"};
        sums_end(&sums, lid);
    }
    list_end(&going, lid);
#if FIRST_ROUND
    list_end(&staying, lid);
#endif
}
