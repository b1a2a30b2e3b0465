<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// outward_kept: 1 for each corner that is left, 0 for others and at the end.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_kept(global const uchar *taken, global const uchar *vanished, global const uint *ring_of, const uint n,
                  global uint *kept)
{
    const range_t items = items_of(n + 1);
    for (uint i = items.begin; i < items.end; i += items.stride)
        kept[i] = i < n && !taken[i] && !vanished[ring_of[i]];
}
