<%page args="value='uchar', variant='group', wg_size=256, items_per_thread=1"/>\
// classes_values: the classes of the faces whose first cells are in some rows of a few maps.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#define VALUE ${value}
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_values(global const VALUE *cells, const ulong start, const uint maps, const uint first_map,
                    const uint first_row, const uint rows, const uint lines, const uint columns,
                    global const uint2 *firsts, const uint n, global VALUE *values)
{
    const range_t items = items_of(n);
    for (uint face = items.begin; face < items.end; face += items.stride) {
        const uint2 first = firsts[face];
        const uint map = first.y / lines - first_map, row = first.y % lines - first_row;   // both wrap before the first
        if (map < maps && row < rows)
            values[face] = cells[start + ((ulong)map * rows + row) * columns + first.x];
    }
}
