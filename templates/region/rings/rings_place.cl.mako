<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// rings_place: where rings and polygons begin, from the scan of rings_sizes.
//
//   begins    | 0 12 16 .. |     the first corner of each ring, and the end of the last one
//   firsts    | 0 2 3 ..   |     the first ring of each polygon, and the end of the last one
//   owners    | 0 0 1 ..   |     the mask of each polygon
//   numbers                      the ring of each leading chain
//   facts[0]                     number of polygons
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rings_place(global const uint *leaders, global const uint *first_edges, global const ulong *before,
                 global const uint *row_of, const uint n, const uint rows, global uint *begins, global uint *firsts,
                 global uint *owners, global uint *numbers, global ulong *facts)
{
    const range_t items = items_of(n + 1);
    for (uint ring = items.begin; ring < items.end; ring += items.stride) {
        const uint polygon = before[ring] >> 32;
        begins[ring] = (uint)before[ring];
        if (ring == n) {
            firsts[polygon] = n;
            facts[0] = polygon;
        } else {
            const uint leader = leaders[ring], edge = first_edges[leader];
            numbers[leader] = ring;
            if (!(edge & 1)) {
                firsts[polygon] = ring;
                owners[polygon] = row_of[edge / 2] / rows;
            }
        }
    }
}
