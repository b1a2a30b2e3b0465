<%page args="real='float', filtered=True, exact=True, check=False, published=False, variant='group', wg_size=128, items_per_thread=4"/>\
// arc_outline_local: the outline of short segments of one region, from candidates to vertices, in local memory.
//
//   candidates | segment 0 | segment 1 | .. | segment OWN | ..       a tile of OWN segments to a group, with the last
//                                                                    before it and the next after it that are not empty
//   hulls      [ first lower corners of all work-items | second ones | .. | first upper ones .. ]     on banks of their own
//   staged     | lower and upper vertices of tile 0 .. | of tile 1 .. | ..    from twice where its candidates begin
//   counts     [ lower vertices of tile 0 | of tile 1 .. | upper ones .. | segments that are not empty .. | doubt .. ]
//
// A segment begins with the column of its first nominal candidate. So it has the columns that end among its nominal
// candidates, where its work-item finds them: at most LONGEST, for columns of any length. The work-item finds their hulls,
// the tangents to the next segments, then their vertices in the outline. Only vertices are written to global memory.
% if exact:
// Processes the tiles that are in doubt, a group to `span` tiles, since they are few; with ``all`` every tile.
% else:
// Only the filter of geometry/orient2d.h decides; tiles in which it is in doubt are marked for another launch. H200, 16M
// points: 271 us instead of 318.
% endif
% if check:
// Sets bit 1 of flag if candidates are not in lexicographic order, or not finite.
% endif
// Source: the local-memory kernel of adaptive region construction, with Andrew's monotone chain (1979).
#define PUBLISHED ${int(published)}
#define REAL ${real}
#define FILTERED ${int(filtered)}
#define EXACT ${int(exact)}
#include "geometry/orient2d.h"
#define KEEP_COLLINEAR 0
#include "hood/hood.h"
#include "arc/arc_order.h"
#include "arc/arc_cut.h"
#include "arc/arc_crossing.h"
#include "arc/arc_doubt.h"
#define WG_SIZE ${max(wg_size, 4)}                   // at least 4, so that some have segments of their own
#define ARC_SUM ulong
#include "arc/arc_before.h"
#include "arc/arc_tangent_short.h"
#define LONGEST ${items_per_thread}                // nominal candidates of a segment at most
#define POINT(points, id) CLGEOM_LOAD2(${real}, points, id)
#include "arc/arc_window.h"
#define SIDE (WG_SIZE * LONGEST)                   // corners of a side
#define ROOM (WINDOW > 2 * SIDE ? WINDOW : 2 * SIDE)

// Upper sides are reflected: all functions below are for lower ones. The reflection and its inverse are exact.
#define TURNED(side, p) (point_t)((p).x, (side) ? ${"~(p).y" if real == "int" else "-(p).y"} : (p).y)
#define CHECK ${int(check)}
#include "arc/arc_hulls_short.h"

// Shared data of a group. For each side and work-item: number of corners, corners that tangents touch, their other ends.
typedef struct {
    local point_t *candidates, *hulls;
    local ushort *sizes, *touched_q, *touched_p, *touched_from, *touched_to, *stores, *reflexes;
    local ulong *values;
} shared_t;

// The tangents to the next segment that is not empty; p becomes the corners that they touch, or the last corners if there
// is no tangent.
inline void item_tangents(const shared_t shared, uint lid, uint2 size, uint *p, int *doubt)
{
    uint other = lid + 1;
    while (size.x && other < WG_SIZE && shared.sizes[other] == 0)
        ++other;
    for (uint side = 0; side < 2; ++side) {
        const uint lefts = side * SIDE + lid, rights = side * SIDE + other;
        p[side] = lefts + (max(side ? size.y : size.x, 1u) - 1) * WG_SIZE;
        if (size.x && other < WG_SIZE) {
            const uint q_last = rights + (shared.sizes[side * WG_SIZE + other] - 1) * WG_SIZE;
            const uint2 touched = item_tangent(shared.hulls, lefts, p[side], rights, q_last, doubt);
            p[side] = touched.x;
            shared.touched_to[side * WG_SIZE + lid] = shared.touched_q[side * WG_SIZE + other] = touched.y;
            shared.touched_from[side * WG_SIZE + other] = touched.x;
        }
        shared.touched_p[side * WG_SIZE + lid] = p[side];
    }
}

// Vertices of the tile, lower ones, then upper ones, where its candidates were: of each segment the corners from q to p, or
// where p is left of q, at a reflex vertex, the crossing of its tangents${" (as published, both corners)" if published else ""}. Returns
// how many are lower ones, how many there are, and how many segments.
inline uint3 group_vertices(const shared_t shared, uint lid, uint has, const uint *p, int *doubt)
{
    uint q[2], reflex[2], vertices[2];
    for (uint side = 0; side < 2; ++side) {
        q[side] = shared.touched_q[side * WG_SIZE + lid];
        reflex[side] = has && q[side] > p[side];
        vertices[side] = !has ? 0 : !reflex[side] ? (p[side] - q[side]) / WG_SIZE + 1 : ${2 if published else 1};
    }
    // 16 bits each: lower vertices, upper ones, reflex ones, segments
    ulong sum;
    const ulong before = group_before(
        vertices[0] | vertices[1] << 16 | (ulong)(reflex[0] + reflex[1] | has << 16) << 32, lid, shared.values, &sum);
    const uint all_lower = sum & 0xffff;
    local point_t *outline = shared.candidates;                    // read by now
    for (uint side = 0; side < 2; ++side) {
        uint to = side ? all_lower + (before >> 16 & 0xffff) : before & 0xffff;
#if PUBLISHED
        if (reflex[side]) {
            outline[to] = shared.hulls[q[side]];
            outline[to + 1] = shared.hulls[p[side]];
        }
#else
        if (reflex[side]) {                                        // all work-items together, because up to half of all vertices are reflex
            shared.reflexes[(before >> 32 & 0xffff) + (side ? reflex[0] : 0)] = side * WG_SIZE + lid;
            shared.stores[side * WG_SIZE + lid] = to;
        }
#endif
        for (uint k = q[side]; has && k <= p[side]; k += WG_SIZE)
            outline[to++] = shared.hulls[k];
    }
#if !PUBLISHED
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint v = lid; v < (sum >> 32 & 0xffff); v += WG_SIZE) {
        const uint item = shared.reflexes[v];
        outline[shared.stores[item]] = item_crossing(
            shared.hulls[shared.touched_from[item]], shared.hulls[shared.touched_q[item]],
            shared.hulls[shared.touched_p[item]], shared.hulls[shared.touched_to[item]], doubt);
    }
#endif
    return (uint3)(all_lower, all_lower + (sum >> 16 & 0xffff), sum >> 48);
}

kernel CLGEOM_NARROW __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_outline_local(global const real_t *points, const uint m, const uint segments, const uint tiles,
                       global point_t *staged, global uint *counts, global uint *flag, const uint all,
                       const uint span)
{
    local point_t candidates[ROOM], hulls[2 * SIDE];
    local ushort sizes[2 * WG_SIZE], touched_q[2 * WG_SIZE], touched_p[2 * WG_SIZE];
    local ushort touched_from[2 * WG_SIZE], touched_to[2 * WG_SIZE], stores[2 * WG_SIZE], reflexes[2 * WG_SIZE];
    local ulong values[2 * WG_SIZE];
    const shared_t shared = {candidates, hulls, sizes, touched_q, touched_p, touched_from, touched_to, stores, reflexes, values};
    const uint lid = get_local_id(0);
#if EXACT
    for (uint group = get_group_id(0) * span; group < min((uint)(get_group_id(0) + 1) * span, tiles); ++group) {
    if (all || counts[3 * (size_t)tiles + group]) {
#else
    local uint in_doubt;
    const uint group = get_group_id(0);
    if (lid == 0)
        in_doubt = 0;
#endif
    int doubt = 0;
    const uint tile = group * OWN, tile_end = min(tile + OWN, segments);
    const window_t window = group_load_window(points, m, segments, tile, tile_end, lid, candidates);
    barrier(CLK_LOCAL_MEM_FENCE);

    const segment_t segment = item_segment(window, m, segments, tile, tile_end, lid);
    uint2 size = 0;
    if (segment.count) {
        const point_t low = item_column_low(points, m, window, segment, candidates);
        size = item_hulls(segment, m, low, candidates, hulls + lid, flag, &doubt);
    }
    sizes[lid] = size.x;
    sizes[WG_SIZE + lid] = size.y;
    touched_q[lid] = lid;                                          // where no tangent comes from the left
    touched_q[WG_SIZE + lid] = SIDE + lid;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint p[2];
    item_tangents(shared, lid, size, p, &doubt);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint own = lid > 0 && tile + lid <= tile_end;
    const uint3 found = group_vertices(shared, lid, own && size.x, p, &doubt);
#if !EXACT
    if (doubt)
        atomic_or(&in_doubt, 1u);
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) {
        counts[group] = found.x;
        counts[tiles + group] = found.y - found.x;
        counts[2 * tiles + group] = found.z;
#if !EXACT
        counts[3 * (size_t)tiles + group] = in_doubt;
#endif
    }
    const size_t first = 2 * (size_t)arc_nominal(0, m, segments, tile);
    for (uint k = lid; k < found.y; k += WG_SIZE)                  // -0.0 + 0 is 0, however points were sorted
        staged[first + k] = TURNED(k >= found.x, candidates[k]) + (real_t)0;
#if EXACT
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    }
#endif
}
