<%page args="first=True, nested=False, bounded=False, wide=False, variant='group', wg_size=256, items_per_thread=1"/>\
// outward_measure: keys of vertices, and the list of those that may go with their map's limit: the candidates.
//
// `first`: of all vertices of the maps that are not done (list 0), which are listed again (list 1) without those that are
// gone. Later rounds with one limit measure only vertices whose neighbours have changed: the others keep their keys.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#define NESTED ${int(nested)}
#define BOUNDED ${int(bounded)}
#define WIDE ${int(wide)}
#include "rings/each.h"
#include "rings/measure.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_measure(global const int *corners, global const uchar *saddles, global const uint *ring_of,
                     global const uint *begins, global const uint *mask_of, const uint levels, global uint *previous,
                     global uint *next, global const uint *bitmaps, global const uint *outer, const uint words,
                     const ulong stride, const float tolerance, const uint round, global const uint *list,
                     global uint *left, global const uint *rounds, global uint *keys, global uint *candidates,
                     volatile global uint *state)
{
    const uint n = state[${"ALIVE" if first else "DIRTY + round"}], lid = get_local_id(0);
    const vertices_t all = {corners, saddles, ring_of, begins, previous, next, keys, bitmaps, outer,
                            words, stride, tolerance};
    LIST(own);
    EACH_TOGETHER(base, n) {
        uint vertex = 0, key = NEVER;
        int stays = 0;
        if (base + lid < n) {
            vertex = list[base + lid];
            const uint map = mask_of[vertex] / levels;
            volatile global uint *const words_of_map = state + MAPS + MAP_WORDS * map;
            const uint beyond = words_of_map[BEYOND];
            stays = beyond > 0${" && rounds[vertex] == 0" if first else ""};
            if (stays) {
                key = keys[vertex];
                if (key >= UNCHECKED && key != NEVER)
                    keys[vertex] = key = measured(&all, vertex, key, map, beyond, words_of_map + PENDING);
            }
        }
% if first:
        list_add_two(own, key < UNCHECKED, vertex, candidates, &state[CANDIDATES], stays, vertex, left, &state[LEFT], lid);
    }
    list_end(own, candidates, &state[CANDIDATES], left, &state[LEFT]);
% else:
        list_add(own, key < UNCHECKED, vertex, candidates, &state[CANDIDATES], lid);
    }
    list_end(own, candidates, &state[CANDIDATES], candidates, &state[CANDIDATES]);
% endif
}
