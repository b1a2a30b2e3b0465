<%page args="real='float', filtered=True, variant='group', wg_size=64, items_per_thread=1"/>\
// arc_tangents: the common tangents of neighbouring segments of a region; a work-item to a pair and side.
//
//   ranges  [ (first, last) | ..        hulls of the segments, see arc/arc_segments.h; empty segments are skipped
//   links   [ q p from to | ..          of each segment and side: where tangents touch it, and their other ends
//
// With `own`, only tangents that arc_hulls_local left: those of its tiles of `own` segments that have more candidates than
// `fit` (0: of all tiles); none if none are pending.
// Without a tangent, a segment's first corner counts as touched from the left, and its last one from the right.
// Reads O(log p log q) corners for each pair.
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP_COLLINEAR 0
#include "hood/hood.h"
#include "arc/arc_turn.h"
#include "arc/arc_segments.h"
typedef struct { global const real_t *points; global const uint *corners; } hull_t;

inline point_t arc_corner(const hull_t *hull, uint index)
{
    return CLGEOM_LOAD2(${real}, hull->points, hull->corners[index]);
}

#include "arc/arc_tangent.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void arc_tangents(global const real_t *lower, global const real_t *upper, const uint m, global const uint *cuts,
                  const uint segments, const uint of_region, global const uint *corners, global const uint *ranges,
                  global uint *links, const uint own, const uint fit, global const uint *pending)
{
    const ulong all = own && !pending[0] ? 0 : 2 * (ulong)segments;
    const share_t share = item_share(all, ${int(variant == "serial")});
    for (ulong i = share.begin; i < share.end; i += share.stride) {
        const uint side = i >= segments, s = (uint)(side ? i - segments : i);
        if (arc_is_empty(cuts, s))
            continue;
        const uint region = s / of_region * of_region, next = arc_next(cuts, s, region + of_region);
        if (own && fit) {
            const uint tile = s / own * own, halo = arc_halo(cuts, min(tile + own, segments), segments);
            if (cuts[min(halo + 1, segments)] - cuts[tile] <= fit)
                continue;
        }
        const hull_t hull = {side ? upper : lower, corners + (size_t)side * m};
        const uint2 p_range = vload2(i, ranges);
        global uint *mine = links + 4 * (size_t)i, *theirs = links + 4 * ((size_t)side * segments + next);
        if (cuts[s] == cuts[region])
            mine[LINK_Q] = p_range.x;
        if (next == region + of_region || arc_is_empty(cuts, next)) {     // empty: in disorder
            mine[LINK_P] = p_range.y;
            continue;
        }
        const uint2 touched = arc_tangent(&hull, side, p_range, vload2((size_t)side * segments + next, ranges));
        mine[LINK_P] = touched.x;
        mine[LINK_TO] = hull.corners[touched.y];
        theirs[LINK_Q] = touched.y;
        theirs[LINK_FROM] = hull.corners[touched.x];
    }
}
