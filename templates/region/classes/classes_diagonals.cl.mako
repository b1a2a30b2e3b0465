<%page args="value='uchar', variant='group', wg_size=256, items_per_thread=1"/>\
// classes_diagonals: faces of one class that share a corner get one root: for connections of 8.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#define VALUE ${value}
#include "classes/unite.h"
#include "classes/halves.h"
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_diagonals(global const uchar *kinds, global const uint *slots, global const uint *nodes,
                       global const uint *arrivals, global const int *left, global const int *right,
                       global const VALUE *values, const uint n, volatile global uint *parents)
{
    const range_t items = items_of(n);
    for (uint corner = items.begin; corner < items.end; corner += items.stride) {
        const uint kind = kinds[corner], leaves = kind & 15;
        if (popcount(kind) < 4)
            continue;
        const node_t own = node_at(leaves, 15, slots[corner], arrivals + 4 * nodes[corner], left, right);
        unite_diagonals(&own, values, parents);
    }
}
