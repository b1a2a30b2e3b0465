<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// rings_corners: writes the corners of all rings in order, and whether they are at saddles.
//
//   edges     | 0 1 2 ..       an edge that ends at two corners knows its ring, whose corners begin at begins[leader], and
//   corners   | ring 0: (x, y) (x, y) .. | ring 1: .. |      its place there
#include "portable.h"
#define WG_SIZE ${wg_size}

inline int position(global const int *lefts, global const int *rights, uint edge)
{
    return edge & 1 ? rights[edge / 2] + 1 : lefts[edge / 2];
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rings_corners(global const int *lefts, global const int *rights, global const uint *row_of,
                   global const uint *following, global const uchar *turns, global const uint *leaders,
                   global const uint *places, global const uint *begins, const uint n, const uint rows,
                   global int *corners, global uchar *saddles)
{
% if variant == "serial":
    const uint share = (n + get_global_size(0) - 1) / get_global_size(0);
    const uint begin = min(get_global_id(0) * share, (size_t)n), end = begin + min(share, n - begin), stride = 1;
% else:
    const uint begin = get_global_id(0), end = n, stride = get_global_size(0);
% endif
    for (uint edge = begin; edge < end; edge += stride) {
        const uchar bits = turns[edge];
        if (bits & 1) {
            const ulong at = (ulong)begins[leaders[edge]] + places[edge];
            const int line = row_of[edge / 2] % rows + (edge & 1);
            vstore4((int4)(position(lefts, rights, edge), line, position(lefts, rights, following[edge]), line), 0,
                    corners + 2 * at);
            saddles[at] = bits >> 1 & 1;
            saddles[at + 1] = bits >> 2 & 1;
        }
    }
}
