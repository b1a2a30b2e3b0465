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
#define WG_SIZE ${max(wg_size, 8)}                  // the fewest that have segments of their own
#include "arc_before.h"
#define HALF (WG_SIZE / 2)                         // work-items to a side
#define OWN (HALF - 2)
#define MARGIN 16                                  // candidates before the tile's nominal ones: columns begin there
#define CAPACITY (WG_SIZE * ${items_per_thread})

#define PLACE(i) ((i) + (i) / 16)                 // work-items that are 4 points apart are on different banks
#define ROOM PLACE(CAPACITY)

// Andrew's chain over candidates of ascending x; of those that share an x the outermost counts. Leaves the corners in hull
// from `first` on, and returns how many they are.
inline uint item_chain(local const point_t *candidates, uint first, uint count, uint side, local point_t *hull)
{
    uint size = 0;
    point_t below = 0, top = 0;
    for (uint k = first; k < first + count; ++k) {
        const point_t p = candidates[PLACE(k)];
        int pop = 0;
        if (size > 0 && p.x == top.x) {
            if (side ? p.y <= top.y : p.y >= top.y)
                continue;
            pop = 1;
        }
        while (1) {
            if (!pop && size > 1) {
                const int turn = arc_turn(side, below, top, p);
                pop = !IS_CORNER(turn);
            }
            if (!pop)
                break;
            pop = 0;
            --size;
            top = below;
            if (size > 1)
                below = hull[PLACE(first + size - 2)];
        }
        hull[PLACE(first + size)] = p;
        ++size;
        below = top;
        top = p;
    }
    return size;
}

// The places that the common tangent of two hulls touches: from the last of P and the first of Q outward, one test at a
// time. Hulls are short: a search would take as many tests.
inline uint2 item_tangent(local const point_t *hull, uint side, uint p_first, uint p, uint q, uint q_last)
{
    point_t on_p = hull[PLACE(p)], on_q = hull[PLACE(q)];
    for (uint stuck = 0, right = 1; stuck < 2;) {
        int moves = right ? q < q_last : p > p_first;
        if (moves) {
            const point_t next = hull[PLACE(right ? q + 1 : p - 1)];
            const int turn = arc_turn(side, right ? on_p : next, on_q, right ? next : on_p);
            moves = right ? BEYOND_Q(turn) : !BEYOND_P(turn);
            if (moves && right) {
                on_q = next;
                ++q;
            } else if (moves) {
                on_p = next;
                --p;
            }
        }
        stuck = moves ? 0 : stuck + 1;
        right ^= !moves;
    }
    return (uint2)(p, q);
}

// -0.0 + 0 is 0: one zero in the answer, however points were sorted
#define STORE(at, p) vstore2((p) + (real_t)0, at, out)

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_outline_local(global const real_t *points, const uint m, const uint segments, const uint tiles,
                       global real_t *staged, global uint *counts, global uint *flag)
{
    local point_t candidates[ROOM], hulls[2 * ROOM];
    local ushort sizes[WG_SIZE], places[WG_SIZE], touched_q[WG_SIZE], touched_p[WG_SIZE];
    local ushort touched_from[WG_SIZE], touched_to[WG_SIZE], stores[WG_SIZE], valleys[WG_SIZE];
    local uint values[WG_SIZE], sums[ARC_CHUNKS], cuts[HALF + 1], in_valley;
    const uint lid = get_local_id(0), side = lid / HALF, slot = lid % HALF;
    const uint tile = get_group_id(0) * OWN, tile_end = min(tile + OWN, segments);

    // All from a little before the last point of the segment before the tile that can begin it, to the end of the one after.
    const uint nominal = arc_nominal(0, m, segments, max(tile, 1u) - 1), from = max(nominal, (uint)MARGIN) - MARGIN;
    const uint to = min(arc_nominal(0, m, segments, tile_end + 1), m - 1) + 1, window = to - from;
    for (uint i = lid; i < window && window <= CAPACITY; i += WG_SIZE)
        candidates[PLACE(i)] = CLGEOM_LOAD2(${real}, points, from + i);
    if (lid == 0)
        in_valley = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    // Where segments begin: of slot 0, which is that before the tile, up to the end of the one after it.
    if (lid <= HALF) {
        const uint k = min(tile + lid - (tile + lid > 0), tile_end + 1);
        uint cut = tile + lid > 0 ? arc_nominal(0, m, segments, k) : 0;
        if (cut < m && cut > from && window <= CAPACITY) {
            const real_t x = candidates[PLACE(cut - from)].x;
            while (cut > from && candidates[PLACE(cut - 1 - from)].x == x)
                --cut;
        }
        if (cut <= from && cut > 0)                                // its column begins before
            cut = arc_cut(points, 0, m, segments, k);
        cuts[lid] = cut;
    }
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
    // If the window does not have all, it moves.
    const uint moves = origin < from || halo_end > to, base = moves ? origin : from;
    const uint all = (moves ? halo_end : to) - base, fits = all <= CAPACITY && window <= CAPACITY;
    if (lid == 0 && !fits)
        atomic_or(flag, 2u);
    for (uint i = lid; moves && fits && i < all; i += WG_SIZE)
        candidates[PLACE(i)] = CLGEOM_LOAD2(${real}, points, base + i);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint own = slot > 0 && tile + slot <= tile_end, is_halo = slot == HALF - 1;
    const uint begin = slot == 0 ? origin : own ? cuts[slot] : halo_begin;
    const uint end = slot == 0 ? tile_begin : own ? cuts[slot + 1] : is_halo ? halo_end : halo_begin;
    const uint first = begin - base;
    const int possible = origin <= begin && begin <= end && end <= halo_end;      // not so in disorder
    const uint count = fits && possible ? end - begin : 0;
% if check:
    int ordered = lid >= HALF || cuts[lid] <= cuts[lid + 1];
    for (uint i = lid; fits && i < all; i += WG_SIZE) {
        const point_t p = candidates[PLACE(i)], before = candidates[PLACE(max(i, 1u) - 1)];
        ordered &= arc_is_finite(p) & (i == 0 | arc_in_order(before, p));      // that to the first: in a tile before
    }
    if (!ordered)
        atomic_or(flag, 1u);
% endif
    local point_t *hull = hulls + side * ROOM;
    const uint size = item_chain(candidates, first, count, side, hull);
    sizes[lid] = size;
    places[lid] = touched_q[lid] = first;                         // where no tangent comes from the left
    barrier(CLK_LOCAL_MEM_FENCE);
    uint p = first + size - 1;
    if (size && slot <= OWN) {
        const uint last = (side + 1) * HALF;
        uint other = lid + 1;                                      // the next segment that is not empty
        while (other < last && sizes[other] == 0)
            ++other;
        if (other < last) {
            const uint2 touched = item_tangent(hull, side, first, p, places[other], places[other] + sizes[other] - 1);
            p = touched.x;
            touched_to[lid] = touched_q[other] = touched.y;
            touched_from[other] = touched.x;
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
    const uint at = before_me >> 12 * side & 0xfff;
    global real_t *out = staged + 2 * ((size_t)side * m + tile_begin);
% if paper:
    if (some && q > p) {
        STORE(at, hull[PLACE(q)]);
        STORE(at + 1, hull[PLACE(p)]);
    }
% else:
    if (some && q > p) {                                           // side by side, for half of all are valleys
        valleys[atomic_inc(&in_valley)] = lid;
        touched_p[lid] = p;
        stores[lid] = at;
    }
% endif
    for (uint k = q; some && k <= p; ++k)
        STORE(at + (k - q), hull[PLACE(k)]);
% if not paper:
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint v = lid; v < in_valley; v += WG_SIZE) {
        const uint item = valleys[v], side = item / HALF;
        local const point_t *hull = hulls + side * ROOM;
        global real_t *out = staged + 2 * ((size_t)side * m + tile_begin);
        const point_t vertex = arc_crossing(side, hull[PLACE(touched_from[item])], hull[PLACE(touched_q[item])],
                                            hull[PLACE(touched_p[item])], hull[PLACE(touched_to[item])]);
        STORE(stores[item], vertex);
    }
% endif
}
