<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// classes_cells: the cells of each face, from sums over the rings before, and its layer; its parent is itself.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_cells(global const long *before, global const long *face_rings, global const uint2 *firsts, const uint n,
                   const uint lines, global long *cells, global int *layers, global uint *parents)
{
    const range_t items = items_of(n);
    for (uint face = items.begin; face < items.end; face += items.stride) {
        cells[face] = before[face_rings[face + 1]] - before[face_rings[face]];
        layers[face] = firsts[face].y / lines;
        parents[face] = face;
    }
}
