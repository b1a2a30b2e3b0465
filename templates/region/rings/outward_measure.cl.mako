<%page args="first=True, nested=False, bounded=False, wide=False, variant='group', wg_size=256, items_per_thread=1"/>\
// outward_measure: keys of vertices, and the list of those that may go with their map's limit: the candidates.
//
// `first`: of all listed vertices of the maps that are not done (list 0), which are listed again (list 1) without those that
// stay while their neighbours do. Later rounds with one limit measure only vertices whose neighbours have changed: the others
// keep their keys.
// Reads 12 bytes a vertex, and 43 where the triangle is new; writes 4 to 12 bytes.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#define NESTED ${int(nested)}
#define BOUNDED ${int(bounded)}
#define WIDE ${int(wide)}
#include "rings/each.h"
#include "rings/measure.h"
#include "rings/sums.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_measure(global const int *corners, global const uchar *saddles, global const uint *ring_of,
                     global const uint *begins, global const uint *mask_of, const uint levels, global uint *previous,
                     global uint *next, global const uint *bitmaps, global const uint *outer, const uint words,
                     const ulong stride, const float tolerance, const uint round, global const uint *list,
                     global uint *left, global uint *keys, global uint *candidates, volatile global uint *state)
{
    const uint n = state[${"ALIVE" if first else "DIRTY + round"}], lid = get_local_id(0);
    const vertices_t all = {corners, saddles, ring_of, begins, previous, next, keys, bitmaps, outer,
                            words, stride, tolerance};
    SUMS(sums);
    LIST(going, candidates, &state[CANDIDATES]);
% if first:
    LIST(staying, left, &state[LEFT]);
% endif
    EACH_ROUND(base, n) {
        sums_begin(sums, state, mask_of[list[base]] / levels, lid);
        GROUP_BARRIER();
        OF_ROUND(i, base) {
            const uint vertex = list[i], map = mask_of[vertex] / levels, old = keys[vertex];
            const uint beyond = sums_limit(sums, state, map);
            if (beyond == 0)
                continue;
            uint key = old;
            if (is_open(old)) {
                key = measured(&all, vertex, old, map, beyond);
                if (is_open(key))
                    sums_wait(sums, state, map, key ^ UNCHECKED);
            }
% if first:
            key = key == STAYS ? NEVER : key;
            list_put(&staying, key != NEVER, vertex);
% else:
            key = key == NEVER ? STAYS : key;   // it is in the next list
% endif
            list_put(&going, key < UNCHECKED, vertex);
            if (key != old)
                keys[vertex] = key;
        }
        list_next(&going, lid);
% if first:
        list_next(&staying, lid);
% endif
        sums_end(sums, state, lid);
    }
    list_end(&going, lid);
% if first:
    list_end(&staying, lid);
% endif
}
