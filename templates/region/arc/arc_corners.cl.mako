<%page args="real='float', filtered=True, variant='group', wg_size=32, items_per_thread=1"/>\
// arc_corners: reduces lists of candidates to the corners of their hulls; a work-group to a list.
//
//   lists   | block 0: c0 c1 c2 ..   | block 1: c0 ..           from left to right, in the memory of corners
//   ranges  [ (first, last) | ..                                indices in the lists; see arc/arc_segments.h
//
// Each candidate of a short list is tested against all lines of two others: the tests are independent, without barriers. A
// list that does not fit in local memory is processed in global memory, by strips of a work-item that are merged.
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP_COLLINEAR 0
#include "hood/hood.h"
#include "arc/arc_turn.h"
#define WG_SIZE ${wg_size}
#define ROOM 256
#define POINT(points, id) CLGEOM_LOAD2(${real}, points, id)
#include "arc/arc_group.h"

// Whether candidate i of n is a corner of their hull: the steepest line to it from the left turns towards the side on its
// way to the right.
inline int item_is_corner(local const real_t *x, local const real_t *y, uint n, uint i, uint side)
{
    const point_t p = (point_t)(x[i], y[i]);
    point_t left = p, right = p;
    for (uint j = 0; j < n; ++j) {
        const point_t q = (point_t)(x[j], y[j]);
        const int before = q.x < p.x;
        if (q.x == p.x) {
            if ((side ? q.y > p.y : q.y < p.y) || (q.y == p.y && j < i))
                return 0;
        } else if ((before ? left.x : right.x) == p.x || arc_turn(side, before ? left : p, before ? p : right, q) < 0) {
            if (before)
                left = q;
            else
                right = q;
        }
    }
    if (left.x == p.x || right.x == p.x)
        return 1;
    const int turn = arc_turn(side, left, p, right);
    return IS_CORNER(turn);
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_corners(global const real_t *points, const uint m, const uint blocks, global uint *corners, global uint *ranges)
{
    local real_t x[ROOM], y[ROOM];
    local uint id[ROOM], values[2 * WG_SIZE], parts[3 * WG_SIZE];
    const uint lid = get_local_id(0), which = get_group_id(0), side = which >= blocks;
    const uint2 range = vload2(which, ranges);
    const uint count = range.y + 1 - range.x;                      // 0 for (1, 0)
    global uint *list = corners + (size_t)side * m + range.x;
    uint size = 0;
    if (count <= ROOM) {
        for (uint k = lid; k < count; k += WG_SIZE) {
            const uint from = list[k];
            const point_t p = POINT(points, from);
            id[k] = from;
            x[k] = p.x;
            y[k] = p.y;
        }
        ARC_FENCE();                                               // all reads precede the writes to the list
        for (uint base = 0; base < count; base += WG_SIZE) {
            const uint k = base + lid, stays = k < count && item_is_corner(x, y, count, k, side);
            uint all;
            const uint at = size + group_before(stays, lid, values, &all);
            if (stays)
                list[at] = id[k];
            size += all;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    } else
        size = group_hull_of_list(points, list, count, side, lid, values, parts);
    if (lid == 0 && count)
        vstore2((uint2)(range.x, range.x + size - 1), which, ranges);
}
