<%page args="real='float', filtered=True, variant='group', wg_size=32, items_per_thread=1"/>\
// arc_corners: of long lists of candidates only the corners of their hulls stay; a work-group to a list.
//
//   lists   | block 0: c0 c1 c2 ..   | block 1: c0 ..           from left to right, in the memory of corners
//   ranges  [ (first, last) | ..                                places in the lists; see arc_segments.h
//
// Only lists of more than `fit` candidates, which arc_hulls_blocks left: nothing if none are pending. A strip to a
// work-item, and merges.
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
#define POINT(points, id) CLGEOM_LOAD2(${real}, points, id)
#include "arc_group.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_corners(global const real_t *points, const uint m, const uint blocks, global uint *corners, global uint *ranges,
                 const uint fit, global const uint *pending)
{
    local uint sizes[WG_SIZE], parts[3 * WG_SIZE];
    if (!pending[0])
        return;
    const uint which = get_group_id(0), side = which >= blocks;
    const uint2 range = vload2(which, ranges);
    const uint count = range.y + 1 - range.x;                      // 0 for (1, 0)
    if (count <= fit)
        return;
    global uint *list = corners + (size_t)side * m + range.x;
    const uint size = group_hull_of_list(points, list, count, side, get_local_id(0), sizes, parts);
    if (get_local_id(0) == 0)
        vstore2((uint2)(range.x, range.x + size - 1), which, ranges);
}
