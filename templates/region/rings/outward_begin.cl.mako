<%page args="nested=False, measured=True, wide=False, variant='group', wg_size=256, items_per_thread=1"/>\
// outward_begin: nodes of the corners of one level, whose rings are closed, and the list of those that may go.
//
// Sets the bits of the corners in the bitmaps of their maps, too: see rings/triangle.h.
// `measured`: lists those that may go with the first limit, as the first outward_measure would: without a tolerance these need no search.
// Reads 13 bytes a corner, and those of its neighbours; writes 17 bytes, 4 or 8 more a listed one, and a bit.
#define MEASURED ${int(measured)}
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#define NESTED ${int(nested)}
#define BOUNDED 0
#define WIDE ${int(wide)}
#include "rings/items.h"
#include "rings/level.h"
#include "rings/measure.h"
#include "rings/sums.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_begin(global const int *corners, global const uchar *saddles, global const uint *ring_of,
                   global const uint *begins, global const uint *before, global const ulong *facts, const uint maps,
                   const uint levels, const uint level, const uint words, const ulong stride, global const uint *mask_of,
                   global const uint *outer, global uint4 *nodes, global uchar *taken, volatile global uint *bitmaps,
                   global uint *alive, global uint *candidates, volatile global uint *state)
{
    const level_t own = level_of(before, facts, maps, levels, level);
    const uint n = count_of(&own), lid = get_local_id(0);
    uint map = 0;
#if MEASURED
    GROUP_MEMORY held_t held_listed;
    list_t listed = list_of(alive, &state[LEFT], &held_listed);
    GROUP_MEMORY held_t held_going;
    list_t going = list_of(candidates, &state[CANDIDATES], &held_going);
    GROUP_MEMORY round_t sums_of_map;
    const sums_t sums = {state, mask_of, facts, levels, &sums_of_map};
#else
    GROUP_MEMORY held_t held_listed;
    list_t listed = list_of(alive, &state[ALIVE], &held_listed);
#endif
    const range_t rounds = rounds_of(n);
    for (uint base = rounds.begin; base < rounds.end; base += rounds.stride) {
#if MEASURED
        sums_begin(&sums, corner_of(&own, base, &map), lid);
        GROUP_BARRIER();
#endif
        const range_t items = items_of_round(&rounds, base);
        for (uint i = items.begin; i < items.end; i += items.stride) {
            const uint vertex = corner_of(&own, i, &map);
            const uint ring = ring_of[vertex], begin = begins[ring], end = begins[ring + 1];
            const uint p = (vertex == begin ? end : vertex) - 1, q = vertex + 1 == end ? begin : vertex + 1;
            const int2 at = vload2(vertex, corners);
            uint key = searchable(saddles, vertex, p, q, cross_of(vload2(p, corners), vload2(q, corners), at));
#if MEASURED
            if (key == (UNCHECKED | 1)) {
                key = 1;
#if NESTED
                if (is_marked(outer + map * stride, words, at))
                    key = NEVER;
#endif
            } else if (key != NEVER) {
                sums_wait(&sums, sums_map(&sums, vertex), key ^ UNCHECKED);
            }
            list_put(&going, key < UNCHECKED, vertex);
#endif
            nodes[vertex] = (uint4)(p, q, key, 0);
            taken[vertex] = 0;
            atomic_or(&bitmaps[map * stride + (ulong)at.y * words + (at.x >> 5)], 1u << (at.x & 31));
            list_put(&listed, key != NEVER, vertex);
        }
#if MEASURED
        lists_next(&listed, &going, lid);
        sums_end(&sums, lid);
#else
        list_next(&listed, lid);
#endif
    }
    list_end(&listed, lid);
#if MEASURED
    list_end(&going, lid);
#endif
}
