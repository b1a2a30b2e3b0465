<%page args="real='float', filtered=True, variant='group', wg_size=32, items_per_thread=1"/>\
// arc_corners: of lists of candidates only the corners of their hulls stay; a work-item to a list.
//
//   lists   | block 0: c0 c1 c2 ..   | block 1: c0 ..           from left to right, in the memory of corners
//   ranges  [ (first, last) | ..                                places in the lists; see arc_segments.h
//
// Most lists are short: Andrew's chain with its stack in local memory, the next candidate on its way meanwhile. Long ones
// the work-group takes together, one after the other: a strip to a work-item, and merges.
#include "portable.h"
#define CLGEOM_COORD_${real}
#define CLGEOM_FILTERED ${int(filtered)}
#include "orient2d.h"
typedef ${real} real_t;
typedef ${real}2 point_t;
#define KEEP 0
#include "hood.h"
#include "arc_turn.h"
#define WG_SIZE ${wg_size}
#define SHORT (1536 / WG_SIZE)          // 48 for groups of 32
#define POINT(points, id) CLGEOM_LOAD2(${real}, points, id)
#include "arc_group.h"

inline uint item_corners(global const real_t *points, global uint *list, uint count, uint side, uint lid, local real_t *x,
                         local real_t *y, local uint *ids)
{
    uint size = 0, id = list[0];
    point_t below = 0, top = 0, p = POINT(points, id);
    for (uint k = 0; k < count; ++k) {
        const uint next_id = list[min(k + 1, count - 1)];
        const point_t next = POINT(points, next_id);
        const int shared = size > 0 && p.x == top.x;               // of a column the outermost counts
        int push = !shared || (side ? p.y > top.y : p.y < top.y), pop = shared && push;
        while (push) {
            if (!pop && size > 1) {
                const int turn = arc_turn(side, below, top, p);
                pop = !IS_CORNER(turn);
            }
            if (!pop)
                break;
            pop = 0;
            --size;
            top = below;
            if (size > 1)
                below = (point_t)(x[(size - 2) * WG_SIZE + lid], y[(size - 2) * WG_SIZE + lid]);
        }
        if (push) {
            x[size * WG_SIZE + lid] = p.x;
            y[size * WG_SIZE + lid] = p.y;
            ids[size * WG_SIZE + lid] = id;
            ++size;
            below = top;
            top = p;
        }
        p = next;
        id = next_id;
    }
    for (uint k = 0; k < size; ++k)
        list[k] = ids[k * WG_SIZE + lid];
    return size;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_corners(global const real_t *points, const uint m, const uint blocks, global uint *corners, global uint *ranges)
{
    local real_t x[SHORT * WG_SIZE], y[SHORT * WG_SIZE];
    local uint ids[SHORT * WG_SIZE], sizes[WG_SIZE], parts[3 * WG_SIZE], long_lists[WG_SIZE], first_list;
    const uint lid = get_local_id(0), which = get_global_id(0), all = 2 * blocks;
    const uint2 range = which < all ? vload2(which, ranges) : (uint2)(1, 0);
    const uint count = range.y + 1 - range.x;                      // 0 for (1, 0)
    if (count > 0 && count <= SHORT) {
        const uint side = which >= blocks;
        const uint size = item_corners(points, corners + (size_t)side * m + range.x, count, side, lid, x, y, ids);
        vstore2((uint2)(range.x, range.x + size - 1), which, ranges);
    }
    long_lists[lid] = count > SHORT ? count : 0;
    if (lid == 0)
        first_list = which;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint other = 0; other < WG_SIZE; ++other) {
        const uint length = long_lists[other];
        if (length > 0) {                                          // so for all of the group
            const uint it = first_list + other, side = it >= blocks, begin = ranges[2 * (size_t)it];
            global uint *list = corners + (size_t)side * m + begin;
            const uint size = group_hull_of_list(points, list, length, side, lid, sizes, parts);
            if (lid == 0)
                ranges[2 * (size_t)it + 1] = begin + size - 1;
        }
    }
}
