<%page args="real='float', filtered=True, directions=1024, variant='group', wg_size=256, items_per_thread=1"/>\
// polygon_cut: the points of a list that are not strictly inside a polygon, by exact tests: a lower and an upper list.
//
//   polygon      rows of at most ${directions} points, counter-clockwise or nearly, and their number
//   lower, upper ids of the kept points that are not above, or not below, the line from its leftmost to its rightmost;
//                points that are not between these in x are in both lists, so both have the extreme points in x
//
// A point is dropped if it is strictly inside a triangle of corner 0 and two neighbouring corners, by the exact orientation
// of its sides. That is correct for any three points, so the order of corners does not matter. Floating point selects the
// triangle.
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#include "geometry/directions.h"
#define DIRECTIONS ${directions}
#define WG_SIZE ${wg_size}
#include "group/reduce.h"
#define SIDE(a, b, p) orient2d(x[a], y[a], x[b], y[b], (p).x, (p).y)

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void polygon_cut(global const real_t *points, global const uint *list, const uint in, const uint capacity,
                 global uint *sizes, global const uint *polygon, global const uint *number, const uint out,
                 const uint room, global uint *lower, global uint *upper)
{
    local real_t x[DIRECTIONS], y[DIRECTIONS];
    local float2 fan[DIRECTIONS];
    const uint total = sizes[in] > capacity ? 0 : sizes[in], corners = *number;
    const point_t start = CLGEOM_POINT(points, (size_t)polygon[0]);
    local ushort leftmost[WG_SIZE], rightmost[WG_SIZE];
    const uint lid = get_local_id(0);
    uint west = min(lid, corners - 1), east = west;
    for (uint k = lid; k < corners; k += WG_SIZE) {
        const point_t p = CLGEOM_POINT(points, (size_t)polygon[k]);
        x[k] = p.x;
        y[k] = p.y;
        fan[k] = (float2)(OFFSET(start.x, p.x), OFFSET(start.y, p.y));
        west = x[k] < x[west] ? k : west;
        east = x[k] > x[east] ? k : east;
    }
    leftmost[lid] = west;
    rightmost[lid] = east;
    GROUP_REDUCE(lid, other, if (x[leftmost[other]] < x[leftmost[lid]]) leftmost[lid] = leftmost[other];
                             if (x[rightmost[other]] > x[rightmost[lid]]) rightmost[lid] = rightmost[other]);
    const uint a = leftmost[0], b = rightmost[0];
    for (uint i = get_global_id(0); i < total; i += get_global_size(0)) {
        const uint row = list[i];
        const point_t p = CLGEOM_POINT(points, (size_t)row);
        const uint before = fan_index(fan, corners, (float2)(OFFSET(start.x, p.x), OFFSET(start.y, p.y)));
        const uint after = before + 1 < corners ? before + 1 : 0;
        if (SIDE(before, after, p) > 0 && SIDE(0, before, p) > 0 && SIDE(after, 0, p) > 0)
            continue;
        const int above = x[a] < p.x && p.x < x[b] ? SIDE(a, b, p) : 0;
        if (above <= 0) {
            const uint index = atomic_inc(&sizes[out]);
            if (index < room)
                lower[index] = row;
        }
        if (above >= 0) {
            const uint index = atomic_inc(&sizes[out + 1]);
            if (index < room)
                upper[index] = row;
        }
    }
}
