<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// outward_begin: links, keys and the list of the corners of one level; rings are closed.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/each.h"
#include "rings/state.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_begin(global const uint *mask_of, global const uint *ring_of, global const uint *begins, const uint n,
                   const uint levels, const uint level, global uint *previous, global uint *next, global uint *keys,
                   global uint *rounds, global uchar *taken, global uint *alive, volatile global uint *state)
{
    const uint lid = get_local_id(0);
    LIST(own);
    EACH_TOGETHER(base, n) {
        const uint vertex = base + lid;
        const int mine = vertex < n && mask_of[vertex] % levels == level;
        if (mine) {
            const uint ring = ring_of[vertex], begin = begins[ring], end = begins[ring + 1];
            previous[vertex] = (vertex == begin ? end : vertex) - 1;
            next[vertex] = vertex + 1 == end ? begin : vertex + 1;
            keys[vertex] = NEW;
            rounds[vertex] = 0;
            taken[vertex] = 0;
        }
        list_add(own, mine, vertex, alive, &state[ALIVE], lid);
    }
    list_end(own, alive, &state[ALIVE], alive, &state[ALIVE]);
}
