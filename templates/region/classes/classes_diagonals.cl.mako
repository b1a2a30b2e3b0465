<%page args="value='uchar', variant='group', wg_size=256, items_per_thread=1"/>\
// classes_diagonals: faces of one class that share a corner get one root: for connections of 8.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#define VALUE ${value}
#include "classes/unite.h"
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
        int faces[4];
        uint step = slots[corner];
        for (uint d = 0; d < 4; ++d)
            faces[d] = leaves >> d & 1 ? left[step++] : right[arrivals[4 * nodes[corner] + d]];
        for (uint d = 0; d < 2; ++d)
            if (faces[d] >= 0 && faces[d + 2] >= 0 && values[faces[d]] == values[faces[d + 2]])
                unite(parents, faces[d], faces[d + 2]);
    }
}
