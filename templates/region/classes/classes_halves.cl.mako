<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// classes_halves: for each half of an arc that leaves a node the one that arrives there before it on a ring.
//
//           |            half 2 arc goes forwards along an arc, with its left face at the left, half 2 arc + 1 backwards
//        ---o---         with the right one. A ring keeps round the cells of its face, so it arrives by the next side to the
//           | f <        left of the one by which it leaves; but where a face has both cells of a diagonal, by the side to the
//         d v            right: it crosses over, so that no ring passes a node twice.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "classes/lines.h"
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
        uint arcs[4], step = slots[corner];
        int faces[4];   // at the left of what leaves in each direction
        for (uint d = 0; d < 4; ++d) {
            const int out = leaves >> d & 1;
            arcs[d] = out ? step++ : any >> d & 1 ? arrivals[4 * nodes[corner] + d] : 0;
            faces[d] = out ? left[arcs[d]] : right[arcs[d]];
        }
        for (uint d = 0; d < 4; ++d) {
            if (!(any >> d & 1))
                continue;
            uint e = (d + 1) % 4;
            while (!(any >> e & 1))
                e = (e + 1) % 4;
            if (any == 15 && faces[d] == faces[(d + 2) % 4])
                e = (d + 3) % 4;
            before[2 * arcs[d] + !(leaves >> d & 1)] = 2 * arcs[e] + (leaves >> e & 1);
        }
    }
}
