<%page args="real='float', filtered=True, variant='group', wg_size=64, items_per_thread=1"/>\
// batch_contains: whether points are in convex polygons, or between two chains along x, or on their boundary.
//
//   corners   | polygon 0 . . . | 1 . . | 2 . ..      counter-clockwise from the first one by x, then y
//   offsets     b0 b1 b2 ..                           polygon i has the corners from b_i to b_(i + 1)
//   points    | q0 q1 q2 ..                           one work-item, one point
//   owners    | i0 i1 i2 ..                           the polygon of each point, if there are `several`; otherwise the table
//             | l0 u0 l1 u1 .. l_bins u_bins            of numbers of corners below the bins of x, and in or above them
//   inside    | 0  1  1  ..
//
//           ______ last        By x, then y, corners ascend from the first to the last one, and descend from there. On
//     above/   q  \            both ways, a bisection finds the edge below and the edge above a point. It is inside if it
//   first \__below/            is left of both or on them, and its x between those of both corners.
//
// The bin of x ascends with x, whatever its rounding, so that bisections need the corners of one bin only.
//
// Reads each point once and some corners over and over, from a cache; writes a byte a point.
#define CLGEOM_SERIAL ${int(variant == "serial")}
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void batch_contains(global const real_t *corners, global const uint *offsets, global const real_t *points,
                    global const uint *owners, const uint n, const uint several, const uint bins, const real_t scale,
                    global uchar *inside)
{
    const uint share = (n + get_global_size(0) - 1) / get_global_size(0);
#if CLGEOM_SERIAL
    const uint begin = min((uint)get_global_id(0) * share, n), end = min(begin + share, n), stride = 1;
#else
    const uint begin = get_global_id(0), end = n, stride = get_global_size(0);
#endif
    uint owner = UINT_MAX, size = 0, last = 0;
    global const real_t *xy = corners;
    for (uint i = begin; i < end; i += stride) {
        const uint mine = several ? owners[i] : 0;
        if (mine != owner) {
            owner = mine;
            xy = corners + 2 * (size_t)offsets[mine];
            size = offsets[mine + 1] - offsets[mine];
            last = 0;
            for (uint count = size, step; count > 1; count -= step) {
                step = count / 2;
                global const real_t *at = xy + 2 * (size_t)(last + step);
                last += CLGEOM_BEFORE(at[-2], at[-1], at[0], at[1], 0) ? step : 0;
            }
        }
        const real_t x = points[2 * (size_t)i], y = points[2 * (size_t)i + 1];
        global const real_t *far = xy + 2 * (size_t)last;
        // few branches: a processor would guess them wrong
        uint found = size > 0 && (x >= xy[0]) & (x <= far[0]);
        if (found && xy[0] == far[0])              // a point, or all corners above each other
            found = (y >= xy[1]) & (y <= far[1]);
        else if (found) {
            uint below = 0, above = last, count = last, more = size - last;
#if !defined(CLGEOM_COORD_int)
            if (bins > 0) {
                global const uint *bin = owners + 2 * min((uint)((x - xy[0]) * scale), bins - 1);
                below = max(bin[0], 1u) - 1;
                count = bin[2] - below;
                above = last + max(bin[3], 1u) - 1;
                more = last + bin[1] - above;
            }
#endif
            while (count > 1 || more > 1) {
                const uint step = count / 2, other = more / 2;
                below = xy[2 * (size_t)(below + step)] < x ? below + step : below;
                above = xy[2 * (size_t)(above + other)] > x ? above + other : above;
                count -= step;
                more -= other;
            }
            global const real_t *a = xy + 2 * (size_t)below, *b = xy + 2 * (size_t)above;
            global const real_t *next = above + 1 < size ? b + 2 : xy;
            found = (orient2d(a[0], a[1], a[2], a[3], x, y) >= 0) & (orient2d(b[0], b[1], next[0], next[1], x, y) >= 0);
        }
        inside[i] = found;
    }
}
