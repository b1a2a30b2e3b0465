<%page args="listed=True, variant='group', wg_size=256, items_per_thread=1"/>\
// rings_corners: writes the corners of all rings in order, whether they are at saddles, their rings and their masks.
//
//   corners   | ring 0: (x, y) (x, y) .. | ring 1: .. |      two for each side along a row
//   areas     | 3 -1 .. 0      for two corners: what their side adds to the area of the ring, in cells
//
// `listed`: a work-item takes one side from the list of rings_sides, so that neighbours write what is beside each other.
// Else it follows a chain: on CPUs, where this is one ring after the other.
// Reads 17 bytes an edge and 8 a side, or 20 a chain; writes 21 bytes a corner.
#define LISTED ${int(listed)}
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/chains.h"
#include "rings/items.h"

inline int position(global const int *lefts, global const int *rights, uint edge)
{
    return edge & 1 ? rights[edge / 2] + 1 : lefts[edge / 2];
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rings_corners(global const int *lefts, global const int *rights, global const uint *row_of,
                   global const uint *following, global const uchar *turns,
#if LISTED
                   global const uint2 *sides,
#else
                   global const uint *firsts, global const uint *leaders, global const uint *places,
                   global const uint *numbers, global const uint *begins,
#endif
                   const uint n, const uint rows, const uint count, global int4 *corners, global uchar2 *saddles,
                   global uint2 *ring_of, global uint2 *mask_of, global long *areas)
{
#define WRITE(at, x, end)                                                                   \
    do {                                                                                    \
        corners[at] = (int4)(x, line, end, line);                                           \
        saddles[at] = (uchar2)(bits & SADDLE ? 1 : 0, bits & SECOND_SADDLE ? 1 : 0);        \
        ring_of[at] = ring;                                                                 \
        mask_of[at] = mask;                                                                 \
        areas[at] = (long)(x - end) * line;                                                 \
    } while (0)
    if (get_global_id(0) == 0)
        areas[count / 2] = 0;
#if LISTED
    const range_t items = items_of(n);
    for (uint at = items.begin; at < items.end; at += items.stride) {
        const uint edge = sides[at].x, ring = sides[at].y, row = row_of[edge / 2], mask = row / rows;
        const uchar bits = turns[edge];
        const int line = row - mask * rows + (edge & 1);
        const int x = position(lefts, rights, edge), end = position(lefts, rights, following[edge]);
        WRITE(at, x, end);
    }
#else
    const range_t items = items_of(n);
    for (uint chain = items.begin; chain < items.end; chain += items.stride) {
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
                WRITE(at, x, end);
                ++at;
            }
            x = end;
        } while (goes_on);
    }
#endif
}
