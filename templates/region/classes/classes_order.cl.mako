<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// classes_order: of the rings in order the number of arcs and the cells, 0 at the end, and the first ring of each face.
//
// `places` is where each ring goes.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_order(global const uint *order, global const uint *keys, global const long *areas,
                   global const uint *begins, const uint n, const uint placed, const uint faces, global uint *places,
                   global long *sizes, global long *cells, global long *face_rings)
{
    if (get_global_id(0) == 0) {
        sizes[n] = cells[n] = 0;
        face_rings[faces] = n;
    }
    const range_t items = items_of(n);
    for (uint i = items.begin; i < items.end; i += items.stride) {
        const uint ring = order[i], begin = begins[ring], end = ring + 1 < n ? begins[ring + 1] : placed;
        places[ring] = i;
        sizes[i] = end - begin;
        cells[i] = areas[end] - areas[begin];
        if (!(keys[ring] & 1))
            face_rings[keys[ring] / 2] = i;
    }
}
