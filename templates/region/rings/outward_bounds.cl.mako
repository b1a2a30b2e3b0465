<%page args="by_polygon=False, variant='group', wg_size=256, items_per_thread=1"/>\
// outward_bounds: the sums of amounts before the first and after the last removal of each owner; see rings/cut.h.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#define BY_POLYGON ${int(by_polygon)}
#include "rings/items.h"
#include "rings/cut.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_bounds(global const uint *mask_of, const uint levels, global const uint *ring_of, global const uint *firsts,
                  const uint polygons, global const uint *order, const uint n,
                  global const ulong *sums, global ulong *bounds)
{
    const range_t items = items_of(n);
    for (uint i = items.begin; i < items.end; i += items.stride) {
        const uint owner = OWNER(order[i]);
        if (i == 0 || OWNER(order[i - 1]) != owner)
            bounds[2 * owner] = sums[i];
        if (i == n - 1 || OWNER(order[i + 1]) != owner)
            bounds[2 * owner + 1] = sums[i + 1];
    }
}
