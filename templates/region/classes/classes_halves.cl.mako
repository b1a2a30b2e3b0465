<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// classes_halves: for each half of an arc that leaves a node the one that arrives there before it on a ring. See
// classes/halves.h.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "classes/lines.h"
#include "classes/halves.h"
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_halves(global const uchar *kinds, global const uint *slots, global const uint *nodes,
                    global const uint *arrivals, global const int *left, global const int *right, const uint n,
                    global uint *before)
{
    const range_t items = items_of(n);
    for (uint corner = items.begin; corner < items.end; corner += items.stride) {
        const uint kind = kinds[corner], leaves = kind & 15, any = leaves | kind >> 4;
        if (!IS_NODE(kind))
            continue;
        const node_t own = node_at(leaves, any, slots[corner], arrivals + 4 * nodes[corner], left, right);
        for (uint d = 0; d < 4; ++d)
            if (any >> d & 1)
                before[leaving_half(&own, d)] = arriving_half(&own, d);
    }
}
