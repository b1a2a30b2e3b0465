<%page args="real='float', filtered=True, directions=1024, apart=32, variant='group', wg_size=256, items_per_thread=1"/>\
// polygon_cut: the points of a list that are not strictly inside a polygon, exactly; the lower ones, and the upper ones.
//
//   polygon      rows of at most ${directions} points, counter-clockwise or nearly, and their number
//   ends         rows of two points, the first about the rightmost, the one ${apart} later about the leftmost
//   lower, upper ids of the points left that are not above, or not below, the line between the ends; points that are not
//                between them in x go to both lists, so that both begin and end with the ends of all points
//
// A point is dropped when it is strictly inside a triangle of corner 0 and two neighbours, by the exact orientation of its
// sides: that is right for any three points, so nothing depends on the order of corners. Which triangle, floating point
// may guess.
#include "portable.h"
#define CLGEOM_COORD_${real}
#define CLGEOM_FILTERED ${int(filtered)}
#include "orient2d.h"
typedef ${real} real_t;
typedef ${real}2 point_t;
#include "directions.h"
#define DIRECTIONS ${directions}
#define WG_SIZE ${wg_size}
#define SIDE(a, b, p) orient2d(x[a], y[a], x[b], y[b], (p).x, (p).y)

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void polygon_cut(global const real_t *points, global const uint *list, const uint in, const uint capacity,
                 global uint *sizes, global const uint *polygon,
                 global const uint *number, global const uint *ends, const uint out, const uint room, global uint *lower,
                 global uint *upper)
{
    local real_t x[DIRECTIONS], y[DIRECTIONS];
    local float2 fan[DIRECTIONS];
    const uint total = sizes[in] > capacity ? 0 : sizes[in], corners = *number;
    const point_t start = CLGEOM_LOAD2(${real}, points, (size_t)polygon[0]);
    const point_t right = CLGEOM_LOAD2(${real}, points, (size_t)ends[0]), left = CLGEOM_LOAD2(${real}, points, (size_t)ends[${apart}]);
    for (uint k = get_local_id(0); k < corners; k += WG_SIZE) {
        const point_t p = CLGEOM_LOAD2(${real}, points, (size_t)polygon[k]);
        x[k] = p.x;
        y[k] = p.y;
        fan[k] = (float2)(OFFSET(start.x, p.x), OFFSET(start.y, p.y));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_global_id(0); i < total; i += get_global_size(0)) {
        const uint row = list[i];
        const point_t p = CLGEOM_LOAD2(${real}, points, (size_t)row);
        const uint before = fan_place(fan, corners, (float2)(OFFSET(start.x, p.x), OFFSET(start.y, p.y))), after = before + 1 < corners ? before + 1 : 0;
        if (SIDE(before, after, p) > 0 && SIDE(0, before, p) > 0 && SIDE(after, 0, p) > 0)
            continue;
        const int between = left.x < p.x && p.x < right.x;
        const int above = between ? orient2d(left.x, left.y, right.x, right.y, p.x, p.y) : 0;
        if (above <= 0) {
            const uint place = atomic_inc(&sizes[out]);
            if (place < room)
                lower[place] = row;
        }
        if (above >= 0) {
            const uint place = atomic_inc(&sizes[out + 1]);
            if (place < room)
                upper[place] = row;
        }
    }
}
