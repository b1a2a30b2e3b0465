<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// classes_faces: the face of each run, from the scan of classes_leaders, and (column, line) of the first cell of each face.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "classes/lines.h"
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_faces(global const uint *roots, global const uint2 *begins, global const uint *leads, const uint n,
                   global uint *faces, global uint2 *firsts)
{
    const range_t items = items_of(n);
    for (uint run = items.begin; run < items.end; run += items.stride) {
        const uint root = roots[run], face = leads[root];
        const int has_data = leads[root + 1] != face;
        faces[run] = has_data ? face : NO_FACE;
        if (has_data && root == run)
            firsts[face] = begins[run];
    }
}
