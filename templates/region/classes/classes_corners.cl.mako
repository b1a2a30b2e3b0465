<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// classes_corners: the bends and nodes of all lines in order.
//
//   places   (column, line) of each corner      slots   the first step that leaves it: steps from nodes come before those
//   kinds    its sides, see classes/lines.h             from bends
//   nodes    the number of nodes before it
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "classes/lines.h"
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_corners(global const uint4 *planes, global const ulong *corners, global const ulong *runs, const uint n,
                     const uint words, const uint open, global uint2 *places, global uchar *kinds, global uint *slots,
                     global uint *nodes)
{
    const range_t items = items_of(n);
    for (uint at = items.begin; at < items.end; at += items.stride) {
        const sides_t sides = sides_of(planes, at, words);
        const uint2 found = corners_of(&sides);
        const uint line = at / words, x = 32 * (at % words);
        uint bend = (uint)corners[at], node = corners[at] >> 32, step = (uint)runs[at];
        for (uint left = found.x; left; left &= left - 1) {
            const uint bit = lowest_bit(left), corner = bend + node;
            const uint4 out = sides.out >> bit & 1, in = sides.in >> bit & 1;
            const uint leaves = out.x | out.y << 1 | out.z << 2 | out.w << 3;
            places[corner] = (uint2)(x + bit, line);
            kinds[corner] = leaves | in.x << 4 | in.y << 5 | in.z << 6 | in.w << 7;
            nodes[corner] = node;
            if (found.y >> bit & 1) {
                slots[corner] = step;
                step += bit_count(leaves);
                ++node;
            } else {
                slots[corner] = open + bend;
                ++bend;
            }
        }
    }
}
