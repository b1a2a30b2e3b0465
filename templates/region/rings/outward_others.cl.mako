<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// outward_others: adds to the bitmap of each map the bits of all other maps; a work-item takes a word of all maps.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_others(global const uint *bitmaps, const uint maps, const uint stride, global uint *outer)
{
    const range_t items = items_of(stride);
    for (uint word = items.begin; word < items.end; word += items.stride) {
        uint some = 0, several = 0;   // bits of any map, of two or more
        for (uint map = 0; map < maps; ++map) {
            const uint own = bitmaps[(ulong)map * stride + word];
            several |= some & own;
            some |= own;
        }
        for (uint map = 0; map < maps; ++map)
            outer[(ulong)map * stride + word] |= (some & ~bitmaps[(ulong)map * stride + word]) | several;
    }
}
