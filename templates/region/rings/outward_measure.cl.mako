<%page args="first=True, nested=False, bounded=False, wide=False, variant='group', wg_size=256, items_per_thread=1"/>\
// outward_measure: keys of vertices, and the list of those that may go with their map's limit: the candidates.
//
// `first`: of all listed vertices of the maps that are not done (list 0), which are listed again (list 1) without those that
// stay while their neighbours do. Later rounds with one limit measure only vertices whose neighbours have changed: the others
// keep their keys.
// A few vertices in a hundred need a search of their triangle, a loop of many steps: a group searches those of a round
// together, so that its other work-items do not wait for them.
// Reads 8 bytes a vertex, and 51 where the triangle is new; writes 4 to 12 bytes.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#define NESTED ${int(nested)}
#define BOUNDED ${int(bounded)}
#define WIDE ${int(wide)}
#include "rings/each.h"
#include "rings/measure.h"
#include "rings/sums.h"

// Lists a vertex by its key.
inline void put(list_t *going, ${"list_t *staying, " if first else ""}global uint *keys, uint vertex, uint old, uint key)
{
% if first:
    key = key == STAYS ? NEVER : key;
    list_put(staying, key != NEVER, vertex);
% else:
    key = key == NEVER ? STAYS : key;   // it is in the next list
% endif
    list_put(going, key < UNCHECKED, vertex);
    if (key != old)
        keys[vertex] = key;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_measure(global const int *corners, global const uchar *saddles, global const uint *ring_of,
                     global const uint *begins, global const uint *mask_of, global const ulong *facts, const uint levels,
                     global const uint2 *links, global const uint *bitmaps, global const uint *outer, const uint words,
                     const ulong stride, const float tolerance, const uint round, global const uint *list,
                     global uint *left, global uint *keys, global uint *candidates, volatile global uint *state)
{
    const uint n = state[${"ALIVE" if first else "DIRTY + round"}], lid = get_local_id(0);
    const vertices_t all = {corners, saddles, ring_of, begins, links, bitmaps, outer, words, stride, tolerance};
    SUMS(sums, state, mask_of, facts, levels);
    LIST(going, candidates, &state[CANDIDATES]);
<% lists = "&going, &staying" if first else "&going" %>\
% if first:
    LIST(staying, left, &state[LEFT]);
% endif
#if !SERIAL
    local uint2 searches[ROUND_SIZE];   // (vertex, key)
    local uint waiting;
#endif
    EACH_ROUND(base, n) {
#if !SERIAL
        if (lid == 0)
            waiting = 0;
#endif
        sums_begin(&sums, list[base], lid);
        GROUP_BARRIER();
        OF_ROUND(i, base) {
            const uint vertex = list[i], old = keys[vertex], map = sums_map(&sums, vertex);
            const uint beyond = sums_limit(&sums, map);
            if (beyond == 0)
                continue;
            uint key = is_open(old) ? keyed(&all, vertex, old, map) : old;
            if (is_open(key)) {
                if ((key ^ UNCHECKED) < beyond) {
#if SERIAL
                    key = searched(&all, vertex, key, map);
#else
                    searches[atomic_inc(&waiting)] = (uint2)(vertex, key);
                    continue;
#endif
                } else {
                    sums_wait(&sums, map, key ^ UNCHECKED);
                }
            }
            put(${lists}, keys, vertex, old, key);
        }
#if !SERIAL
        GROUP_BARRIER();
        for (uint k = lid; k < waiting; k += WG_SIZE) {
            const uint vertex = searches[k].x, key = searches[k].y;
            put(${lists}, keys, vertex, NEW, searched(&all, vertex, key, sums_map(&sums, vertex)));
        }
#endif
        ${"lists_next(&going, &staying, lid)" if first else "list_next(&going, lid)"};
        sums_end(&sums, lid);
    }
    list_end(&going, lid);
% if first:
    list_end(&staying, lid);
% endif
}
