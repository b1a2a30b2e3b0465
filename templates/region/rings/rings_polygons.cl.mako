<%page args="kept=False, variant='group', wg_size=256, items_per_thread=1"/>\
// rings_polygons: what the caller gets of each polygon: its rings, map, level, part and cells.
//
// Parts are counted from the first polygon of a mask, which a bisection finds: owners ascend. `first_map` maps and
// `first_ring` rings are those of batches before.
#define KEPT ${int(kept)}
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rings_polygons(global const uint *firsts, global const uint *begins, global const uint *owners,
                    global const long *areas,
#if KEPT
                    global const ulong *sizes,
#endif
                    const uint n, const uint levels, const ulong first_map, const ulong first_ring, global long *offsets,
                    global long *maps, global long *level_of, global long *parts, global long *cells)
{
    const range_t items = items_of(n + 1);
    for (uint polygon = items.begin; polygon < items.end; polygon += items.stride) {
        const uint ring = firsts[polygon];
        offsets[polygon] = first_ring + ${"(uint)(sizes[ring] >> 32)" if kept else "ring"};
        if (polygon == n)
            continue;
        const uint mask = owners[polygon];
        uint low = 0, high = polygon;
        while (low < high) {
            const uint middle = low + (high - low) / 2;
            if (owners[middle] < mask)
                low = middle + 1;
            else
                high = middle;
        }
        maps[polygon] = first_map + mask / levels;
        level_of[polygon] = mask % levels;
        parts[polygon] = polygon - low;
        cells[polygon] = areas[begins[firsts[polygon + 1]] / 2] - areas[begins[ring] / 2];
    }
}
