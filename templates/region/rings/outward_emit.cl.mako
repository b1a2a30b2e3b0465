<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// outward_emit: the corners that are left, ring after ring: ranks and sizes are scans of outward_kept and outward_sizes.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_emit(global const int *corners, global const uint *ranks, const uint n, global int *left)
{
    const range_t items = items_of(n);
    for (uint i = items.begin; i < items.end; i += items.stride)
        if (ranks[i + 1] != ranks[i])
            vstore2(vload2(i, corners), ranks[i], left);
}
