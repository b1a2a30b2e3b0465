<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// classes_keys: the keys by which rings are sorted: twice the face, and 1 more for holes, whose areas are negative.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_keys(global const long *areas, global const uint *faces, global const uint *begins, const uint n,
                  const uint placed, global uint *keys)
{
    const range_t items = items_of(n);
    for (uint ring = items.begin; ring < items.end; ring += items.stride) {
        const long area = areas[ring + 1 < n ? begins[ring + 1] : placed] - areas[begins[ring]];
        keys[ring] = 2 * faces[ring] + (area < 0);
    }
}
