<%page args="real='float', filtered=True, check=False, paper=False, variant='group', wg_size=128, items_per_thread=4"/>\
// arc_outline_local: the outline of short segments of one region, from candidates to vertices, in local memory.
//
//   candidates | segment 0 | segment 1 | .. | segment OWN | ..       a tile of OWN segments to a group, with the last
//                                                                    before it and the next after it that are not empty
//   hulls      [ first lower corners of all work-items | second ones | .. | first upper ones .. ]   side by side: banks of
//                                                                                                   their own
//   staged     | lower and upper vertices of tile 0 .. | of tile 1 .. | ..    from twice where its candidates begin
//   counts     [ lower vertices of tile 0 | of tile 1 .. | upper ones .. | segments that are not empty .. ]
//
// A segment begins with the column of its first nominal candidate. So it has the columns that end among these, which is
// where a work-item to a segment looks for them: no more than LONGEST, however long columns are. It finds their hulls, the
// tangents to the next ones, then what of them is in the outline. Nothing but vertices goes to global memory.
% if check:
// Sets bit 1 of flag if candidates are not in lexicographic order, or not finite.
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
#define WG_SIZE ${max(wg_size, 4)}                   // the fewest that have segments of their own
#define ARC_SUM ulong
#include "arc_before.h"
#define OWN (WG_SIZE - 2)
#define LONGEST ${items_per_thread}                // nominal candidates of a segment at most
#define MARGIN 16                                  // candidates before them: columns begin there

#define PLACE(i) ((i) + (i) / 16)                 // work-items that are 4 points apart are on different banks
#define LEFT_AT (MARGIN + WG_SIZE * LONGEST + 1)   // neighbours that are not next to the tile
#define RIGHT_AT (LEFT_AT + LONGEST + 1)
#define WINDOW PLACE(RIGHT_AT + LONGEST + 1)
#define SIDE (WG_SIZE * LONGEST)                   // corners of a side
#define ROOM (WINDOW > 2 * SIDE ? WINDOW : 2 * SIDE)

// Andrew's chain goes on with a point; its corners are at every WG_SIZE-th place of hull, the last two here as well.
typedef struct {
    point_t below, top;
    uint size;
} chain_t;

inline void item_push(local point_t *hull, chain_t *chain, uint side, point_t p)
{
    while (chain->size > 1) {
        const int turn = arc_turn(side, chain->below, chain->top, p);
        if (IS_CORNER(turn))
            break;
        --chain->size;
        chain->top = chain->below;
        if (chain->size > 1)
            chain->below = hull[(chain->size - 2) * WG_SIZE];
    }
    hull[chain->size * WG_SIZE] = p;
    ++chain->size;
    chain->below = chain->top;
    chain->top = p;
}

// The common tangent of the hulls whose corners are at every WG_SIZE-th place up to p, and from q on: from the last
// and the first outward, on both as long as one moves. Hulls are short: a search would take as many tests.
inline uint2 item_tangent(local const point_t *hulls, uint side, uint p_first, uint p, uint q, uint q_last)
{
    point_t on_p = hulls[p], on_q = hulls[q];
    for (int moves = 1; moves;) {
        int moves_p = p > p_first, moves_q = q < q_last;
        const point_t next_p = hulls[moves_p ? p - WG_SIZE : p], next_q = hulls[moves_q ? q + WG_SIZE : q];
        if (moves_p) {
            const int turn = arc_turn(side, next_p, on_q, on_p);
            moves_p = !BEYOND_P(turn);
        }
        if (moves_q) {
            const int turn = arc_turn(side, on_p, on_q, next_q);
            moves_q = BEYOND_Q(turn);
        }
        if (moves_p) {
            p -= WG_SIZE;
            on_p = next_p;
        }
        if (moves_q) {
            q += WG_SIZE;
            on_q = next_q;
        }
        moves = moves_p | moves_q;
    }
    return (uint2)(p, q);
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_outline_local(global const real_t *points, const uint m, const uint segments, const uint tiles,
                       global point_t *staged, global uint *counts, global uint *flag)
{
    local point_t candidates[ROOM], hulls[2 * SIDE];
    local ushort sizes[2 * WG_SIZE], touched_q[2 * WG_SIZE], touched_p[2 * WG_SIZE];
    local ushort touched_from[2 * WG_SIZE], touched_to[2 * WG_SIZE], stores[2 * WG_SIZE], valleys[2 * WG_SIZE];
    local ulong values[2 * WG_SIZE];
    const uint lid = get_local_id(0);
    const uint tile = get_group_id(0) * OWN, tile_end = min(tile + OWN, segments);

    // From a little before the segment before the tile to the end of the one after, and the first candidate of the next.
    const uint tile_first = arc_nominal(0, m, segments, tile), tile_last = arc_nominal(0, m, segments, tile_end);
    const uint before = arc_nominal(0, m, segments, max(tile, 1u) - 1), after = arc_nominal(0, m, segments, tile_end + 1);
    const uint from = max(before, (uint)MARGIN) - MARGIN, to = min(after, m - 1) + 1;
    for (uint i = from + lid; i < to; i += WG_SIZE)
        candidates[PLACE(i - from)] = CLGEOM_LOAD2(${real}, points, i);

    // No column ends in a neighbour: the nearest segment that has one.
    uint left = tile - 1, right = tile_end, left_some = tile > 0;
    const uint right_some = tile_end < segments;
    if (tile > 0 && points[2 * (size_t)before] == points[2 * (size_t)tile_first]) {
        const uint begin = arc_column(points, 0, before);
        left_some = begin > 0;
        left = arc_owner(m, segments, max(begin, 1u) - 1);
        const uint first = arc_nominal(0, m, segments, left), last = arc_nominal(0, m, segments, left + 1);
        for (uint i = lid; i <= last - first; i += WG_SIZE)
            candidates[PLACE(LEFT_AT + i)] = CLGEOM_LOAD2(${real}, points, first + i);
    }
    if (after < m && points[2 * (size_t)tile_last] == points[2 * (size_t)after]) {
        right = arc_owner(m, segments, arc_column_end(points, m, after));
        const uint first = arc_nominal(0, m, segments, right), last = arc_nominal(0, m, segments, right + 1);
        for (uint i = lid; i <= last - first && first + i < m; i += WG_SIZE)
            candidates[PLACE(RIGHT_AT + i)] = CLGEOM_LOAD2(${real}, points, first + i);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    const uint own = lid > 0 && tile + lid <= tile_end;
    const uint some = lid == 0 ? left_some : lid == WG_SIZE - 1 ? right_some : own;
    const uint segment = lid == 0 ? left : lid == WG_SIZE - 1 ? right : tile + lid - 1;
    const uint first = arc_nominal(0, m, segments, some ? segment : 0);
    const uint count = some ? arc_nominal(0, m, segments, segment + 1) - first : 0;
    uint at = first - from, apart = 0;                             // where they are; whether alone
    if (lid == 0 && left + 1 != tile) {
        at = LEFT_AT;
        apart = 1;
    }
    if (lid == WG_SIZE - 1 && right != tile_end) {
        at = RIGHT_AT;
        apart = 1;
    }

    // Andrew's chains over the columns' lowest and highest candidates.
    chain_t lower = {0, 0, 0}, upper = {0, 0, 0};
    if (count) {
        point_t here = candidates[PLACE(at)], low = here;
        if (first + count == m || here.x != candidates[PLACE(at + count)].x) {      // where its column begins
            uint begin = first;
            while (!apart && begin > from && candidates[PLACE(begin - 1 - from)].x == here.x)
                --begin;
            if (begin < first)
                low = candidates[PLACE(begin - from)];
            if ((apart || begin == from) && begin > 0 && points[2 * (size_t)begin - 2] == here.x)
                low = CLGEOM_LOAD2(${real}, points, arc_column(points, 0, begin));
        }
        int ordered = 1;
        for (uint k = 0; k < count; ++k) {
            const int last = first + k + 1 == m;
            const point_t next = last ? here : candidates[PLACE(at + k + 1)];
% if check:
            ordered &= arc_is_finite(here) & arc_in_order(here, next);
% endif
            if (last || next.x != here.x) {
                item_push(hulls + lid, &lower, 0, low);
                item_push(hulls + SIDE + lid, &upper, 1, here);
                low = next;
            }
            here = next;
        }
% if check:
        if (!ordered)
            atomic_or(flag, 1u);
% endif
    }
    for (uint side = 0; side < 2; ++side) {
        sizes[side * WG_SIZE + lid] = side ? upper.size : lower.size;
        touched_q[side * WG_SIZE + lid] = side * SIDE + lid;      // where no tangent comes from the left
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint other = lid + 1;                                          // the next segment that is not empty
    while (lower.size && other < WG_SIZE && sizes[other] == 0)
        ++other;
    uint p[2];
    for (uint side = 0; side < 2; ++side) {
        const uint lefts = side * SIDE + lid, rights = side * SIDE + other;
        p[side] = lefts + (max(side ? upper.size : lower.size, 1u) - 1) * WG_SIZE;
        if (lower.size && other < WG_SIZE) {
            const uint q_last = rights + (sizes[side * WG_SIZE + other] - 1) * WG_SIZE;
            const uint2 touched = item_tangent(hulls, side, lefts, p[side], rights, q_last);
            p[side] = touched.x;
            touched_to[side * WG_SIZE + lid] = touched_q[side * WG_SIZE + other] = touched.y;
            touched_from[side * WG_SIZE + other] = touched.x;
        }
        touched_p[side * WG_SIZE + lid] = p[side];
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    // Before it: lower vertices, upper ones, valleys, segments; 16 bits each.
    const uint has = own && lower.size;
    uint q[2], valley[2], vertices[2];
    for (uint side = 0; side < 2; ++side) {
        q[side] = touched_q[side * WG_SIZE + lid];
        valley[side] = has && q[side] > p[side];
        vertices[side] = !has ? 0 : !valley[side] ? (p[side] - q[side]) / WG_SIZE + 1 : ${2 if paper else 1};
    }
    ulong sum;
    const ulong before_me = group_before_doubled(
        vertices[0] | vertices[1] << 16 | (ulong)(valley[0] + valley[1] | has << 16) << 32, lid, values, &sum);
    const uint all_lower = sum & 0xffff, all = all_lower + (sum >> 16 & 0xffff);
    if (lid == 0) {
        counts[get_group_id(0)] = all_lower;
        counts[tiles + get_group_id(0)] = all - all_lower;
        counts[2 * tiles + get_group_id(0)] = sum >> 48;
    }
    local point_t *outline = candidates;                           // read by now: lower vertices, then upper ones
    for (uint side = 0; side < 2; ++side) {
        uint to = side ? all_lower + (before_me >> 16 & 0xffff) : before_me & 0xffff;
% if paper:
        if (valley[side]) {
            outline[to] = hulls[q[side]];
            outline[to + 1] = hulls[p[side]];
        }
% else:
        if (valley[side]) {                                        // side by side, for up to half of all are valleys
            valleys[(before_me >> 32 & 0xffff) + (side ? valley[0] : 0)] = side * WG_SIZE + lid;
            stores[side * WG_SIZE + lid] = to;
        }
% endif
        for (uint k = q[side]; has && k <= p[side]; k += WG_SIZE)
            outline[to++] = hulls[k];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
% if not paper:
    for (uint v = lid; v < (sum >> 32 & 0xffff); v += WG_SIZE) {
        const uint item = valleys[v];
        outline[stores[item]] = arc_crossing(item / WG_SIZE, hulls[touched_from[item]], hulls[touched_q[item]],
                                             hulls[touched_p[item]], hulls[touched_to[item]]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
% endif
    for (uint k = lid; k < all; k += WG_SIZE)
        staged[2 * (size_t)tile_first + k] = outline[k] + (real_t)0;      // -0.0 + 0 is 0, however points were sorted
}
