<%page args="real='float', filtered=True, check=False, shared=True, variant='group', wg_size=64, items_per_thread=8"/>\
// arc_hulls_local: the hulls of every segment, and tangents between neighbours, in local memory; a work-item to a segment.
//
//   candidates | segment 0 | segment 1 | .. | segment OWN | ..                 a tile of OWN segments to a group, and the
//   local      | all of the tile's candidates, side by side  |                 next that is not empty; ${items_per_thread}
//   corners    [ c0 c1 c2  | c0 c1     | ..                                    candidates to a segment on average, at most
//   ranges     [ (first, last) | ..                                            see arc/arc_segments.h
//   links      [ q p from to | ..
//
% if check:
// flag is set if candidates are not in lexicographic order, or not finite.
% endif
// For a tile with more candidates than fit, hulls are found in global memory, and arc_tangents finds its tangents: pending
// is set. Reads every candidate once, for both sides${"" if shared else " of their own"}.
// Source: the local-memory kernel of adaptive region construction, with Andrew's monotone chain (1979).
#define CHECK ${int(check)}
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP_COLLINEAR 0
#include "hood/hood.h"
#include "arc/arc_turn.h"
#include "arc/arc_segments.h"
#include "arc/arc_order.h"
#define WG_SIZE ${wg_size}
#define CAPACITY (WG_SIZE * ${items_per_thread})
#define OWN (WG_SIZE > 1 ? WG_SIZE - 1 : 1)

#define ARC_ID(i) (i)
#define ARC_LOAD(id) CLGEOM_LOAD2(${real}, points, id)
#define ARC_STACK(k) corners[k]
#include "arc/arc_chain.h"

inline uint item_chain_global(global const real_t *points, uint first, uint count, uint side, global uint *corners)
{
    uint size;
    ARC_CHAIN(first, count, side, size)
    return size;
}

#undef ARC_LOAD
#undef ARC_STACK
#define ARC_LOAD(id) (point_t)(x[id], y[id])
#define ARC_STACK(k) stack[first + (k)]

inline uint item_chain_local(local const real_t *x, local const real_t *y, uint first, uint count, uint side,
                             local ushort *stack)
{
    uint size;
    ARC_CHAIN(first, count, side, size)
    return size;
}

typedef struct { local const real_t *x, *y; local const ushort *stack; } hull_t;

inline point_t arc_corner(const hull_t *hull, uint index)
{
    const uint id = hull->stack[index];
    return (point_t)(hull->x[id], hull->y[id]);
}

#include "arc/arc_tangent.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_hulls_local(global const real_t *lower, global const real_t *upper, const uint m, global const uint *cuts,
                     const uint segments, const uint of_region, global uint *corners, global uint *ranges,
                     global uint *links, global uint *flag, global uint *pending)
{
    local real_t x[CAPACITY], y[CAPACITY];
    local ushort stack[CAPACITY], sizes[WG_SIZE], firsts[WG_SIZE];
    const uint lid = get_local_id(0), tile = get_group_id(0) * OWN, tile_end = min(tile + OWN, segments);
    const uint halo = arc_halo(cuts, tile_end, segments);         // segments between are empty: candidates are contiguous
    const uint s = WG_SIZE > 1 && lid == OWN ? halo : min(tile + lid, segments);
    const uint begin = cuts[tile], all = cuts[min(halo + 1, segments)] - begin;
    const uint loaded = WG_SIZE > 1 && all <= CAPACITY ? all : 0;
    const uint first = cuts[s], end = s < segments ? cuts[s + 1] : first;
    const int possible = (first <= end) & (!loaded | ((first >= begin) & (end <= begin + all)));   // not so in disorder
    const uint count = possible ? end - first : 0, own = lid < OWN && s < segments;
    const uint region = s / of_region * of_region, region_end = min(region + of_region, segments);
    firsts[lid] = first - begin;
    for (uint side = 0; side < 2; ++side) {
        global const real_t *points = side ? upper : lower;
% if shared:
        if (side == 0)
% endif
        for (uint i = lid; i < loaded; i += WG_SIZE) {
            const point_t p = CLGEOM_LOAD2(${real}, points, begin + i);
            x[i] = p.x;
            y[i] = p.y;
#if CHECK
            const point_t q = begin + i > 0 ? CLGEOM_LOAD2(${real}, lower, begin + i - 1) : p;
            if (!arc_is_finite(p) || !arc_in_order(q, p))
                atomic_or(flag, 1u);
#endif
        }
#if CHECK
        if (!possible)
            atomic_or(flag, 1u);
        for (uint k = first; !loaded && k < first + count; ++k) {
            const point_t p = CLGEOM_LOAD2(${real}, lower, k), q = k > 0 ? CLGEOM_LOAD2(${real}, lower, k - 1) : p;
            if (!arc_is_finite(p) || !arc_in_order(q, p))
                atomic_or(flag, 1u);
        }
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
        global uint *mine = corners + (size_t)side * m + first;
        uint size = 0;
        if (loaded) {
            size = item_chain_local(x, y, first - begin, count, side, stack);
            for (uint k = 0; own && k < size; ++k)
                mine[k] = begin + stack[first - begin + k];
        } else if (own)
            size = item_chain_global(points, first, count, side, mine);
        if (own)
            vstore2(count ? (uint2)(first, first + size - 1) : (uint2)(1, 0), (size_t)side * segments + s, ranges);
        sizes[lid] = size;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (own && size) {
            global uint *link = links + 4 * ((size_t)side * segments + s);
            uint other = lid + 1;                                  // the next segment that is not empty
            while (loaded && other < OWN && sizes[other] == 0)
                ++other;
            const uint next = other < OWN ? tile + other : halo;
            if (first == cuts[region])
                link[LINK_Q] = first;
            if (first + count == cuts[region_end])
                link[LINK_P] = first + size - 1;
            else if (loaded && sizes[other] > 0) {                 // next is in the same region
                const hull_t hull = {x, y, stack};
                const uint p = firsts[lid], q = firsts[other];
                const uint2 touched = arc_tangent(&hull, side, (uint2)(p, p + size - 1), (uint2)(q, q + sizes[other] - 1));
                global uint *far = link + 4 * (size_t)(next - s);
                link[LINK_P] = begin + touched.x;
                link[LINK_TO] = begin + stack[touched.y];
                far[LINK_Q] = begin + touched.y;
                far[LINK_FROM] = begin + stack[touched.x];
            } else
                atomic_or(pending, 1u);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
