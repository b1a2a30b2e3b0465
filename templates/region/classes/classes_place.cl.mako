<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// classes_place: the areas of the halves of arcs, in cells, ring after ring, the face of each ring and its first half.
//
// `areas` are sums of the areas of the steps before.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_place(global const uint4 *states, global const ulong *sizes, global const int *left,
                   global const int *right, global const long *areas, global const long *starts, const uint n,
                   const uint placed, global long *ring_areas, global uint *ring_faces, global uint *ring_begins)
{
    if (get_global_id(0) == 0)
        ring_areas[placed] = 0;
    const range_t items = items_of(n);
    for (uint one = items.begin; one < items.end; one += items.stride) {
        const uint4 state = states[one];
        const int face = (one & 1 ? right : left)[one / 2];
        if (face < 0)
            continue;
        const long area = areas[starts[one / 2 + 1] - 1] - areas[starts[one / 2]];
        ring_areas[(uint)sizes[state.y] + state.z] = one & 1 ? -area : area;
        if (state.y == one) {
            ring_faces[sizes[one] >> 32] = face;
            ring_begins[sizes[one] >> 32] = (uint)sizes[one];
        }
    }
}
