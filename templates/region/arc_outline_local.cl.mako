<%page args="real='float', filtered=True, check=False, paper=False, variant='group', wg_size=128, items_per_thread=10"/>\
// arc_outline_local: the outline of short segments of one region, from candidates to vertices, in local memory.
//
//   candidates | segment 0 | segment 1 | .. | segment OWN | ..           a tile of OWN segments to a group, with the last
//   local      | all of the tile's candidates, side by side  |           before it and the next after it that are not empty
//   staged     | lower vertices of tile 0 ..     | of tile 1 ..          where the tile's candidates begin; upper ones
//              | upper vertices ..                                       `m` further on
//   counts     [ lower vertices of tile 0 | of tile 1 .. | upper ones .. | segments that are not empty .. | where it begins .. ]
//
// A work-item to a segment and side: its hull, the tangent to the next one, then what of it is in the outline. Nothing
// but vertices goes to global memory. Sets bit 2 of flag where a tile does not fit: the caller takes another way.
% if check:
// Sets bit 1 if candidates are not in lexicographic order, or not finite.
% endif
// Source: the local-memory kernel of adaptive region construction, with Andrew's monotone chain (1979).
#include "portable.h"
#define CLGEOM_COORD_${real}
#define CLGEOM_FILTERED ${int(filtered)}
#include "orient2d.h"
typedef ${real} real_t;
typedef ${real}2 point_t;
#define KEEP 0
#include "hood.h"
#include "arc_turn.h"
#include "arc_order.h"
#include "arc_cut.h"
#include "arc_crossing.h"
#define WG_SIZE ${wg_size}
#include "arc_before.h"
#define HALF (WG_SIZE / 2)                         // work-items to a side
#define OWN (HALF - 2)
#define CAPACITY (WG_SIZE * ${items_per_thread})

#define ARC_ID(i) (i)
#define ARC_LOAD(id) (point_t)(x[id], y[id])
#define ARC_STACK(k) stack[first + (k)]
#include "arc_chain.h"

inline uint item_chain(local const real_t *x, local const real_t *y, uint first, uint count, uint side, local ushort *stack)
{
    uint size;
    ARC_CHAIN(first, count, side, size)
    return size;
}

typedef struct { local const real_t *x, *y; local const ushort *stack; } hull_t;

inline point_t arc_corner(const hull_t *hull, uint place)
{
    const uint id = hull->stack[place];
    return (point_t)(hull->x[id], hull->y[id]);
}

#include "arc_tangent.h"

// -0.0 + 0 is 0: one zero in the answer, however points were sorted
#define STORE(at, p) vstore2((p) + (real_t)0, at, out)

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_outline_local(global const real_t *points, const uint m, const uint segments, const uint tiles,
                       global real_t *staged, global uint *counts, global uint *flag)
{
    local real_t x[CAPACITY], y[CAPACITY];
    local ushort stacks[2 * CAPACITY], sizes[WG_SIZE], places[WG_SIZE], touched_q[WG_SIZE], touched_from[WG_SIZE];
    local uint values[WG_SIZE], sums[ARC_CHUNKS];
    const uint lid = get_local_id(0), side = lid / HALF, slot = lid % HALF;
    const uint tile = get_group_id(0) * OWN, tile_end = min(tile + OWN, segments);

    // Where segments begin: of slot 0, which is that before the tile, up to the end of the one after it.
    local uint cuts[HALF + 1];
    if (lid <= HALF)
        cuts[lid] = tile + lid > 0 ? arc_cut(points, 0, m, segments, min(tile + lid - 1, tile_end + 1)) : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint tile_begin = cuts[1], halo_begin = cuts[tile_end - tile + 1];
    uint origin = cuts[0], halo_end = cuts[tile_end - tile + 2];
    if (origin == tile_begin && tile > 0)                          // is empty: the last one before it that is not
        for (uint lo = 0, hi = tile - 1; lo < hi;) {
            const uint mid = lo + (hi - lo + 1) / 2, cut = arc_cut(points, 0, m, segments, mid);
            if (cut < tile_begin) {
                lo = mid;
                origin = cut;
            } else {
                hi = mid - 1;
                if (lo == hi)
                    origin = arc_cut(points, 0, m, segments, lo);
            }
        }
    if (halo_end == halo_begin)                                    // likewise the first one after it
        for (uint lo = tile_end + 1, hi = segments; lo < hi;) {
            const uint mid = lo + (hi - lo) / 2, cut = arc_cut(points, 0, m, segments, mid);
            if (cut > halo_begin) {
                hi = mid;
                halo_end = cut;
            } else {
                lo = mid + 1;
                if (lo == hi)
                    halo_end = arc_cut(points, 0, m, segments, lo);
            }
        }
    const uint all = halo_end - origin, own = slot > 0 && tile + slot <= tile_end, is_halo = slot == HALF - 1;
    const uint begin = slot == 0 ? origin : own ? cuts[slot] : halo_begin;
    const uint end = slot == 0 ? tile_begin : own ? cuts[slot + 1] : is_halo ? halo_end : halo_begin;
    const uint first = begin - origin, count = all > CAPACITY ? 0 : end - begin;
    if (lid == 0 && all > CAPACITY)
        atomic_or(flag, 2u);
    for (uint i = lid; i < all && all <= CAPACITY; i += WG_SIZE) {
        const point_t p = CLGEOM_LOAD2(${real}, points, origin + i);
        x[i] = p.x;
        y[i] = p.y;
% if check:
        if (!arc_is_finite(p) || !arc_in_order(CLGEOM_LOAD2(${real}, points, max(origin + i, 1u) - 1), p))
            atomic_or(flag, 1u);
% endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    local ushort *stack = stacks + side * CAPACITY;
    const uint size = item_chain(x, y, first, count, side, stack);
    sizes[lid] = size;
    places[lid] = touched_q[lid] = first;                         // where no tangent comes from the left
    barrier(CLK_LOCAL_MEM_FENCE);
    uint p = first + size - 1, to = 0;
    if (size && slot <= OWN) {
        const uint last = (side + 1) * HALF;
        uint other = lid + 1;                                      // the next segment that is not empty
        while (other < last && sizes[other] == 0)
            ++other;
        if (other < last) {
            const hull_t hull = {x, y, stack};
            const uint q = places[other];
            const uint2 touched = arc_tangent(&hull, side, (uint2)(first, p), (uint2)(q, q + sizes[other] - 1));
            p = touched.x;
            to = stack[touched.y];
            touched_q[other] = touched.y;
            touched_from[other] = stack[touched.x];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint q = touched_q[lid], some = own && size;
    const uint vertices = !some ? 0 : q <= p ? p - q + 1 : ${2 if paper else 1};
    uint sum;                                                      // lower vertices, upper ones, segments: 12, 12, 8 bits
    const uint before_me = group_before(vertices << 12 * side | (some && !side) << 24, lid, values, sums, &sum);
    if (lid == 0) {
        counts[get_group_id(0)] = sum & 0xfff;
        counts[tiles + get_group_id(0)] = sum >> 12 & 0xfff;
        counts[2 * tiles + get_group_id(0)] = sum >> 24;
        counts[3 * (size_t)tiles + get_group_id(0)] = tile_begin;
    }
    if (some) {
        global real_t *out = staged + 2 * ((size_t)side * m + tile_begin);
        const uint at = before_me >> 12 * side & 0xfff;
        if (q <= p)
            for (uint k = q; k <= p; ++k)
                STORE(at + (k - q), ARC_LOAD(stack[k]));
        else {
% if paper:
            STORE(at, ARC_LOAD(stack[q]));
            STORE(at + 1, ARC_LOAD(stack[p]));
% else:
            const point_t v = arc_crossing(side, ARC_LOAD(touched_from[lid]), ARC_LOAD(stack[q]), ARC_LOAD(stack[p]),
                                           ARC_LOAD(to));
            STORE(at, v);
% endif
        }
    }
}
