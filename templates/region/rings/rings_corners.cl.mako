<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// rings_corners: writes the corners of all rings in order, whether they are at saddles, their rings and their masks.
//
//   chains    | 0 1 2 ..       a work-item follows the edges of a chain, whose corners begin at its place in its ring
//   corners   | ring 0: (x, y) (x, y) .. | ring 1: .. |
//   areas     | 3 -1 .. 0      for two corners: what their side adds to the area of the ring, in cells
//
// Reads 17 bytes an edge and 20 a chain; writes 21 bytes a corner.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/chains.h"
#include "rings/each.h"

inline int position(global const int *lefts, global const int *rights, uint edge)
{
    return edge & 1 ? rights[edge / 2] + 1 : lefts[edge / 2];
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rings_corners(global const int *lefts, global const int *rights, global const uint *row_of,
                   global const uint *following, global const uchar *turns, global const uint *firsts,
                   global const uint *leaders, global const uint *places, global const uint *numbers,
                   global const uint *begins, const uint n, const uint rows, const uint count, global int4 *corners,
                   global uchar2 *saddles, global uint2 *ring_of, global uint2 *mask_of, global long *areas)
{
    EACH(chain, n) {
        if (chain == 0)
            areas[count / 2] = 0;
        const uint ring = numbers[leaders[chain]];
        uint edge = firsts[chain], at = (begins[ring] + places[chain]) / 2, goes_on;
        const uint mask = row_of[edge / 2] / rows;
        int x = position(lefts, rights, edge);
        do {
            const uchar bits = turns[edge];
            const int line = row_of[edge / 2] - mask * rows + (edge & 1);
            goes_on = follow(following, turns, &edge);
            const int end = position(lefts, rights, edge);
            if (bits & CORNERS) {
                corners[at] = (int4)(x, line, end, line);
                saddles[at] = (uchar2)(bits & SADDLE ? 1 : 0, bits & SECOND_SADDLE ? 1 : 0);
                ring_of[at] = ring;
                mask_of[at] = mask;
                areas[at] = (long)(x - end) * line;
                ++at;
            }
            x = end;
        } while (goes_on);
    }
}
