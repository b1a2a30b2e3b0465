<%page args="nodes=False, variant='group', wg_size=256, items_per_thread=1"/>\
// classes_counts: for each word its bends (and nodes in the upper half), and the steps that leave its nodes (and the runs
// that begin in it in the upper half); 0 at the end. `active` has a bit for each bend or node, `nodes` for each node. See
// classes/lines.h.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "classes/lines.h"
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_counts(global const uint4 *planes, const uint n, const uint words, const uint lines, const uint columns,
                    global ulong *corners, global ulong *runs, global uint *active${", global uint *nodes" if nodes else ""})
{
    if (get_global_id(0) == 0)
        corners[n] = runs[n] = 0;
    const range_t items = items_of(n);
    for (uint at = items.begin; at < items.end; at += items.stride) {
        const sides_t sides = sides_of(planes, at, words);
        const uint2 found = corners_of(&sides);
        const uint4 leaving = sides.out & found.y;
        const uint steps = bit_count(leaving.x) + bit_count(leaving.y) + bit_count(leaving.z) + bit_count(leaving.w);
        const uint begins = at / words % lines + 1 < lines ? begins_of(planes[at], at % words, columns) : 0;
        corners[at] = bit_count(found.x & ~found.y) | (ulong)bit_count(found.y) << 32;
        runs[at] = steps | (ulong)bit_count(begins) << 32;
        active[at] = found.x;
% if nodes:
        nodes[at] = found.y;
% endif
    }
}
