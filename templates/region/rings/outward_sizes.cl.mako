<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// outward_sizes: for each ring the number of its corners that are left, and RING if there are any.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"
#define RING (1ul << 32)

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_sizes(global const uint *ranks, global const uint *begins, const uint n, global ulong *sizes)
{
    const range_t items = items_of(n + 1);
    for (uint ring = items.begin; ring < items.end; ring += items.stride) {
        const uint size = ring < n ? ranks[begins[ring + 1]] - ranks[begins[ring]] : 0;
        sizes[ring] = size ? RING | size : 0;
    }
}
