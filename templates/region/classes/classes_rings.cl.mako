<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// classes_rings: the arcs of all rings in order, backward ones as ~arc.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_rings(global const uint4 *states, global const ulong *sizes, global const uint *places,
                   global const long *starts, global const int *left, global const int *right, const uint n,
                   global int *arcs)
{
    const range_t items = items_of(n);
    for (uint one = items.begin; one < items.end; one += items.stride) {
        const uint4 state = states[one];
        if ((one & 1 ? right : left)[one / 2] >= 0)
            arcs[starts[places[sizes[state.y] >> 32]] + state.z] = one & 1 ? ~(int)(one / 2) : (int)(one / 2);
    }
}
