<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// classes_regions: 1 for each face that is the first of its region, 0 for others and at the end; then, from the scan of
// these, the region of each face.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_regions(global const uint *roots, global const uint *before, const uint n, const uint numbered,
                     global uint *regions)
{
    const range_t items = items_of(n + 1);
    for (uint face = items.begin; face < items.end; face += items.stride) {
        if (numbered && face < n)
            regions[face] = before[roots[face]];
        else if (!numbered)
            regions[face] = face < n && roots[face] == face;
    }
}
