<%page args="real='float', filtered=True, variant='group', wg_size=32, items_per_thread=1"/>\
// arc_tangents_wide: the common tangents of neighbouring segments of a region; a work-group to a pair and side.
//
//   ranges  [ (first, last) | ..        hulls of the segments, see arc/arc_segments.h; empty segments are skipped
//   links   [ q p from to | ..          of each segment and side: where tangents touch it, and their other ends
//
// As arc_tangents, for few pairs: a single work-item waits for global memory in each of its log p log q tests. Here
// ${wg_size} corners of P are tried at a time, so that most tangents take log q such waits.
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP_COLLINEAR 0
#include "hood/hood.h"
#include "arc/arc_turn.h"
#include "arc/arc_segments.h"
#define WG_SIZE ${wg_size}
typedef struct { global const real_t *points; global const uint *corners; } hull_t;

inline point_t arc_corner(const hull_t *hull, uint index)
{
    return CLGEOM_LOAD2(${real}, hull->points, hull->corners[index]);
}

#include "arc/arc_tangent.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_tangents_wide(global const real_t *lower, global const real_t *upper, const uint m, global const uint *cuts,
                       const uint segments, const uint of_region, global const uint *corners,
                       global const uint *ranges, global uint *links)
{
    local uint stops[WG_SIZE], first;
    const uint lid = get_local_id(0), i = get_group_id(0), side = i >= segments, s = side ? i - segments : i;
    if (arc_is_empty(cuts, s))                               // the same for the whole group, as below
        return;
    const uint region = s / of_region * of_region, next = arc_next(cuts, s, region + of_region);
    const hull_t hull = {side ? upper : lower, corners + (size_t)side * m};
    const uint2 p_range = vload2(i, ranges);
    global uint *mine = links + 4 * (size_t)i, *theirs = links + 4 * ((size_t)side * segments + next);
    if (lid == 0 && cuts[s] == cuts[region])
        mine[LINK_Q] = p_range.x;
    if (next == region + of_region || arc_is_empty(cuts, next)) {     // empty: in disorder
        if (lid == 0)
            mine[LINK_P] = p_range.y;
        return;
    }
    const uint2 q_range = vload2((size_t)side * segments + next, ranges);
    uint lo = p_range.x, hi = p_range.y, step;               // the first corner of P whose successor is not beyond
    do {
        step = (hi - lo) / WG_SIZE + 1;
        const uint index = min(lo + lid * step, hi);
        const point_t from = arc_corner(&hull, index);
        const uint at = arc_touch(&hull, side, from, q_range.x, q_range.y);
        int stop = index == hi;
        if (!stop) {
            const int turn = arc_turn(side, from, arc_corner(&hull, at), arc_corner(&hull, index + 1));
            stop = !BEYOND_P(turn);
        }
        stops[lid] = stop;
        if (lid == 0)
            first = WG_SIZE;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (stop && (lid == 0 || !stops[lid - 1])) {
            first = lid;
            if (step == 1) {
                mine[LINK_P] = index;
                mine[LINK_TO] = hull.corners[at];
                theirs[LINK_Q] = at;
                theirs[LINK_FROM] = hull.corners[index];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint found = first;
        barrier(CLK_LOCAL_MEM_FENCE);                        // all reads precede the next write
        hi = min(lo + found * step, hi);
        lo = found ? lo + (found - 1) * step + 1 : lo;
    } while (step > 1);
}
