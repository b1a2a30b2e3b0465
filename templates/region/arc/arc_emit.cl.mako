<%page args="real='float', filtered=True, published=False, variant='group', wg_size=64, items_per_thread=1"/>\
// arc_emit: the vertices of all outlines: lower sides, region after region from left to right, then upper sides.
//
//   offsets   [ first vertex of segment 0, lower side | 1 | .. | upper side .. | segments not empty before it | .. ]
//             in chunks, see arc_offsets
//   vertices  | lower sides ..                | upper sides ..                 |        (x, y)
//   summary   [ first vertex of region 0, lower side | .. | upper side .. | segments not empty before it | .. | flag ]
//             regions + 1 of each, in the beginning of the same memory: vertices start at number `head`
//
// Group: a work-item to a segment and side, then the next; the whole group copies long runs of corners. Serial: a work-item
// to a share of the segments and sides. Vertices from number `room` on are left out, and all of them if flag is set, because
// links may then be invalid. Reads links and corners, writes each vertex once.
#define CLGEOM_SERIAL ${int(variant == "serial")}
#define REAL ${real}
#define FILTERED ${int(filtered)}
#define PUBLISHED ${int(published)}
#include "geometry/orient2d.h"
#include "arc/arc_segments.h"
#include "arc/arc_crossing.h"
#define POINT(points, id) CLGEOM_LOAD2(${real}, points, id)
#include "arc/arc_vertices.h"
#define WG_SIZE ${wg_size}
#define LONG 8              // runs of more corners are long

kernel CLGEOM_NARROW __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_emit(global const real_t *lower, global const real_t *upper, const uint m, global const uint *cuts,
              const uint segments, const uint of_region, global const uint *corners, global const uint *links,
              global const uint *offsets, global const uint *sums, const uint chunk, global const uint *flag,
              global real_t *vertices, const uint head, const uint room, global uint *summary)
{
    const emission_t all = {lower, upper, corners, links, offsets, sums, m, segments, chunk, vertices, head, room};
    const uint parts = flag[0] ? 0 : 2 * segments;
    items_store_summary(&all, of_region, flag[0], summary);
#if CLGEOM_SERIAL
    const share_t share = item_share(parts, 1);
    for (ulong i = share.begin; i < share.end; i += share.stride) {
        if (arc_is_empty(cuts, (uint)(i < segments ? i : i - segments)))
            continue;
        const part_t part = item_part(&all, i);
        if (part.q > part.p)
            item_store_reflex(&all, &part, i);
        else
            item_store_corners(&all, &part, 0, 1);
    }
#else
    local uint long_runs[WG_SIZE], any_long;      // 1 where the work-item's run is left to all
    const uint lid = get_local_id(0);
    for (ulong base = get_group_id(0) * (ulong)WG_SIZE; base < parts; base += get_global_size(0)) {
        const ulong i = base + lid;
        long_runs[lid] = 0;
        if (lid == 0)
            any_long = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i < parts && !arc_is_empty(cuts, (uint)(i < segments ? i : i - segments))) {
            const part_t part = item_part(&all, i);
            if (part.q > part.p)
                item_store_reflex(&all, &part, i);
            else if (part.p - part.q < LONG)
                item_store_corners(&all, &part, 0, 1);
            else
                any_long = long_runs[lid] = 1;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint other = 0; any_long && other < WG_SIZE; ++other)
            if (long_runs[other]) {
                const part_t part = item_part(&all, base + other);
                item_store_corners(&all, &part, lid, WG_SIZE);
            }
        barrier(CLK_LOCAL_MEM_FENCE);             // all have read what the next parts set
    }
#endif
}
