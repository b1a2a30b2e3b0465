<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// classes_ring_sizes: at the least half of each ring of a face the number of its arcs, and RING; 0 elsewhere and at the end.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#define RING (1ul << 32)
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_ring_sizes(global const uint4 *states, global const int *left, global const int *right, const uint n,
                        global ulong *sizes)
{
    const range_t items = items_of(n + 1);
    for (uint one = items.begin; one < items.end; one += items.stride) {
        const int leads = one < n && states[one].y == one && (one & 1 ? right : left)[one / 2] >= 0;
        sizes[one] = leads ? RING | states[one].w : 0;
    }
}
