<%page args="real='float', filtered=True, paper=False, variant='group', wg_size=64, items_per_thread=1"/>\
// arc_emit: the vertices of all outlines: lower sides, region after region from left to right, then upper sides.
//
//   offsets   [ first vertex of segment 0, lower side | 1 | .. | upper side .. | segments not empty before it | .. ]
//             in chunks, see arc_offsets
//   vertices  | lower sides ..                | upper sides ..                 |        (x, y)
//   summary   [ first vertex of region 0, lower side | .. | upper side .. | segments not empty before it | .. | flag ]
//             regions + 1 of each, in the beginning of the same memory: vertices start at number `head`
//
// A work-item to a segment and side; group: long runs of corners are copied by the whole work-group. Vertices from
// number `room` on are left out, and all of them where flag is set: links may lead anywhere then. Reads links and corners,
// writes each vertex once.
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#include "arc/arc_segments.h"
#include "arc/arc_crossing.h"
#define WG_SIZE ${wg_size}
#define LONG 8              // runs of more corners are long
#define CORNER(place) CLGEOM_LOAD2(${real}, points, side_corners[place])
// -0.0 + 0 is 0: one zero in the answer, however points were sorted
#define STORE(at, p) do { if ((at) < room) vstore2((p) + (real_t)0, head + (at), vertices); } while (0)

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_emit(global const real_t *lower, global const real_t *upper, const uint m, global const uint *cuts,
              const uint segments, const uint of_region, global const uint *corners, global const uint *links,
              global const uint *offsets, global const uint *sums, const uint chunk, global const uint *flag, global real_t *vertices, const uint head,
              const uint room, global uint *summary)
{
    const uint all = flag[0] ? 0 : 2 * segments, regions = segments / of_region;
    for (uint i = get_global_id(0); i < 3 * (regions + 1); i += get_global_size(0)) {
        const uint which = i / (regions + 1), region = i - which * (regions + 1);
        summary[i] = arc_offset(offsets, sums, chunk, which * segments + region * of_region);
    }
    if (get_global_id(0) == 0)
        summary[3 * (regions + 1)] = flag[0];
% if variant == "serial":
    ARC_SHARE(all, 1)
    for (ulong i = begin; i < end; i += stride) {
% else:
    local uint long_runs[WG_SIZE], any_long;      // 1 where the work-item's run is left to all
    const ulong i = get_global_id(0);
    const uint lid = get_local_id(0);
    long_runs[lid] = 0;
    if (lid == 0)
        any_long = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < all) {
% endif
        const uint side = i >= segments, s = (uint)(side ? i - segments : i);
        global const real_t *points = side ? upper : lower;
        global const uint *side_corners = corners + (size_t)side * m;
        if (!arc_is_empty(cuts, s)) {
            const uint at = arc_offset(offsets, sums, chunk, (uint)i);
            const uint q = links[4 * i + LINK_Q], p = links[4 * i + LINK_P];
            if (q > p) {
% if paper:
                STORE(at, CORNER(q));
                STORE(at + 1, CORNER(p));
% else:
                const point_t v = arc_crossing(
                    side, CLGEOM_LOAD2(${real}, points, links[4 * i + LINK_FROM]), CORNER(q), CORNER(p),
                    CLGEOM_LOAD2(${real}, points, links[4 * i + LINK_TO]));
                STORE(at, v);
% endif
% if variant == "serial":
            } else {
                for (uint k = q; k <= p; ++k)
                    STORE(at + (k - q), CORNER(k));
            }
        }
    }
% else:
            } else if (p - q < LONG) {
                for (uint k = q; k <= p; ++k)
                    STORE(at + (k - q), CORNER(k));
            } else
                any_long = long_runs[lid] = 1;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint other = 0; any_long && other < WG_SIZE; ++other)
        if (long_runs[other]) {
            const ulong o = get_group_id(0) * (ulong)WG_SIZE + other;
            const uint side = o >= segments;
            global const real_t *points = side ? upper : lower;
            global const uint *side_corners = corners + (size_t)side * m;
            const uint at = arc_offset(offsets, sums, chunk, (uint)o), q = links[4 * o + LINK_Q], p = links[4 * o + LINK_P];
            for (uint k = q + lid; k <= p; k += WG_SIZE)
                STORE(at + (k - q), CORNER(k));
        }
% endif
}
