<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// rings_corners: writes the corners of all rings in order, whether they are at saddles, their rings and their masks.
//
//   edges     | 0 1 2 ..       an edge that ends at two corners knows its ring, whose corners begin at begins[ring], and
//   corners   | ring 0: (x, y) (x, y) .. | ring 1: .. |      its place there
//   areas     | 3 -1 .. 0      for two corners: what their side adds to the area of the ring, in cells
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/each.h"

inline int position(global const int *lefts, global const int *rights, uint edge)
{
    return edge & 1 ? rights[edge / 2] + 1 : lefts[edge / 2];
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rings_corners(global const int *lefts, global const int *rights, global const uint *row_of,
                   global const uint *following, global const uchar *turns, global const uint *leaders,
                   global const uint *places, global const uint *numbers, global const uint *begins, const uint n,
                   const uint rows, const uint count, global int *corners, global uchar *saddles, global uint *ring_of,
                   global uint *mask_of, global long *areas)
{
    EACH(edge, n) {
        if (edge == 0)
            areas[count / 2] = 0;
        const uchar bits = turns[edge];
        if (bits & 1) {
            const uint ring = numbers[leaders[edge]], at = begins[ring] + places[edge];
            const uint mask = row_of[edge / 2] / rows;
            const int line = row_of[edge / 2] - mask * rows + (edge & 1);
            const int x = position(lefts, rights, edge), end = position(lefts, rights, following[edge]);
            vstore4((int4)(x, line, end, line), at / 2, corners);
            saddles[at] = bits >> 1 & 1;
            saddles[at + 1] = bits >> 2 & 1;
            ring_of[at] = ring_of[at + 1] = ring;
            mask_of[at] = mask_of[at + 1] = mask;
            areas[at / 2] = (long)(x - end) * line;
        }
    }
}
