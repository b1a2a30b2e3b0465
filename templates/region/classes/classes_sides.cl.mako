<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// classes_sides: the faces at the left and at the right of each arc. A closed arc is a ring of its own on both sides:
// `before` then says that each half of it, 2 arc and 2 arc + 1, follows itself.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "classes/lines.h"
#include "rings/items.h"

// The face at the left of a side that leaves a corner in a direction; NO_FACE outside.
inline uint face_at(uint2 corner, uint direction, global const uint4 *planes, global const ulong *runs,
                    global const uint *faces, uint words, uint lines, uint columns)
{
    const int before = direction == 1 || direction == 2, above = direction >= 2;
    const uint row = corner.y % lines - above, x = corner.x - before;   // both wrap outside
    return row < lines - 1 && x < columns ? faces[run_of(planes, runs, corner.y - above, words, columns, x)] : NO_FACE;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_sides(global const uint *heads, global const uint *begins, global const uint *ends,
                   global const uint2 *places, global const uint4 *planes, global const ulong *runs,
                   global const uint *faces, const uint n, const uint open, const uint words, const uint lines,
                   const uint columns, global int *left, global int *right, global uint *before)
{
    const range_t items = items_of(n);
    for (uint arc = items.begin; arc < items.end; arc += items.stride) {
        const uint step = heads[arc];
        const uint2 from = places[begins[step]];
        const uint direction = direction_of(from, places[ends[step]]);
        left[arc] = face_at(from, direction, planes, runs, faces, words, lines, columns);
        right[arc] = face_at(from, (direction + 3) % 4, planes, runs, faces, words, lines, columns);
        if (arc >= open) {
            before[2 * arc] = 2 * arc;
            before[2 * arc + 1] = 2 * arc + 1;
        }
    }
}
