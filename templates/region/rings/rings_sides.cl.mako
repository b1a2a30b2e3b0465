<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// rings_sides: for the sides along rows of all rings in order the edge that ends at the side's first corner, and the ring.
//
//   chains    | 0 1 2 ..       a work-item follows the edges of a chain, whose sides begin at its place in its ring
//   sides     | ring 0: (edge, 0) (edge, 0) .. | ring 1: .. |
//
// Reads 5 bytes an edge and 20 a chain; writes 8 bytes a side. See rings_corners.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/chains.h"
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rings_sides(global const uint *following, global const uchar *turns, global const uint *firsts,
                 global const uint *leaders, global const uint *places, global const uint *numbers,
                 global const uint *begins, const uint n, global uint2 *sides)
{
    const range_t items = items_of(n);
    for (uint chain = items.begin; chain < items.end; chain += items.stride) {
        const uint ring = numbers[leaders[chain]];
        uint edge = firsts[chain], at = (begins[ring] + places[chain]) / 2, goes_on;
        do {
            if (turns[edge] & CORNERS)
                sides[at++] = (uint2)(edge, ring);
            goes_on = follow(following, turns, &edge);
        } while (goes_on);
    }
}
