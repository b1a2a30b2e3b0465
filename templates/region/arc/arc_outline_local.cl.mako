<%page args="real='float', filtered=True, exact=True, check=False, paper=False, variant='group', wg_size=128, items_per_thread=4"/>\
// arc_outline_local: the outline of short segments of one region, from candidates to vertices, in local memory.
//
//   candidates | segment 0 | segment 1 | .. | segment OWN | ..       a tile of OWN segments to a group, with the last
//                                                                    before it and the next after it that are not empty
//   hulls      [ first lower corners of all work-items | second ones | .. | first upper ones .. ]     on banks of their own
//   staged     | lower and upper vertices of tile 0 .. | of tile 1 .. | ..    from twice where its candidates begin
//   counts     [ lower vertices of tile 0 | of tile 1 .. | upper ones .. | segments that are not empty .. | doubt .. ]
//
// A segment begins with the column of its first nominal candidate. So it has the columns that end among these, which is
// where a work-item to a segment looks for them: no more than LONGEST, however long columns are. It finds their hulls, the
// tangents to the next ones, then what of them is in the outline. Nothing but vertices goes to global memory.
% if exact:
// Takes the tiles about which there is doubt, a group to `span` tiles, for there are few; with ``all`` every tile.
% else:
// The filter of geometry/orient2d.h decides alone, and notes tiles in which it is in doubt, for another launch. Without what decides
// the rest, work-items need fewer registers, and more of them are at work: H200, 16M points, 271 us instead of 318.
% endif
% if check:
// Sets bit 1 of flag if candidates are not in lexicographic order, or not finite.
% endif
// Source: the local-memory kernel of adaptive region construction, with Andrew's monotone chain (1979).
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP 0
#include "hood/hood.h"
#include "arc/arc_order.h"
#include "arc/arc_cut.h"
#include "arc/arc_crossing.h"
#define WG_SIZE ${max(wg_size, 4)}                   // the fewest that have segments of their own
#define ARC_SUM ulong
#include "arc/arc_before.h"
#define OWN (WG_SIZE - 2)
#define LONGEST ${items_per_thread}                // nominal candidates of a segment at most
#define MARGIN 16                                  // candidates before them: columns begin there

#define PLACE(i) ((i) + (i) / 16)                 // work-items that are 4 points apart are on different banks
#define LEFT_AT (MARGIN + WG_SIZE * LONGEST + 1)   // neighbours that are not next to the tile
#define RIGHT_AT (LEFT_AT + LONGEST + 1)
#define WINDOW PLACE(RIGHT_AT + LONGEST + 1)
#define SIDE (WG_SIZE * LONGEST)                   // corners of a side
#define ROOM (WINDOW > 2 * SIDE ? WINDOW : 2 * SIDE)

// Upper sides are turned over: all that follows is said for lower ones. Exact, and back again, for all numbers.
#define TURNED(side, p) (point_t)((p).x, (side) ? ${"~(p).y" if real == "int" else "-(p).y"} : (p).y)

// Above 0 when c is above the line a -> b.
inline real_t item_turn(point_t a, point_t b, point_t c, int *doubt)
{
% if exact:
    return orient2d(a.x, a.y, b.x, b.y, c.x, c.y);
% else:
    const real_t left = (a.x - c.x) * (b.y - c.y), right = (a.y - c.y) * (b.x - c.x), det = left - right;
    *doubt |= !(fabs(det) > CLGEOM_THETA_${real} * fabs(left + right) + 4 * FLT_MIN);      // as CLGEOM_FILTER
    return det;
% endif
}

% if items_per_thread <= 4:
// Which of four points, those that are there, are corners of their lower hull: those below all lines from one on the left to
// one on the right.
inline uint item_corners(uint there, point_t p0, point_t p1, point_t p2, point_t p3, int *doubt)
{
    uint stay = there;
% for i, j, k in ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)):
    if ((there & ${2**i + 2**j + 2**k}) == ${2**i + 2**j + 2**k}) {
        const real_t turn = item_turn(p${i}, p${j}, p${k}, doubt);
        stay &= IS_CORNER(turn) ? 15 : ${15 - 2**j};
    }
% endfor
    return stay;
}
% else:
// Andrew's chain goes on with a point; its corners are at every WG_SIZE-th place of hull, the last two here as well.
typedef struct {
    point_t below, top;
    uint size;
} chain_t;

inline void item_push(local point_t *hull, chain_t *chain, point_t p, int *doubt)
{
    while (chain->size > 1) {
        const real_t turn = item_turn(chain->below, chain->top, p, doubt);
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
% endif

// The common tangent of the hulls whose corners are at every WG_SIZE-th place up to p, and from q on: from the last
// and the first outward, on both as long as one moves. Hulls are short: a search would take as many tests.
inline uint2 item_tangent(local const point_t *hulls, uint p_first, uint p, uint q, uint q_last, int *doubt)
{
    point_t on_p = hulls[p], on_q = hulls[q];
    for (int moves = 1; moves;) {
        int moves_p = p > p_first, moves_q = q < q_last;
        const point_t next_p = hulls[moves_p ? p - WG_SIZE : p], next_q = hulls[moves_q ? q + WG_SIZE : q];
        if (moves_p) {
            const real_t turn = item_turn(next_p, on_q, on_p, doubt);
            moves_p = !BEYOND_P(turn);
        }
        if (moves_q) {
            const real_t turn = item_turn(on_p, on_q, next_q, doubt);
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

% if exact:
#define item_crossing(a, b, c, d, doubt) arc_crossing(0, a, b, c, d)
% else:
inline point_t item_crossing(point_t a, point_t b, point_t c, point_t d, int *doubt)
{
    item_turn(c, d, b, doubt);                                     // b or c itself, if on both tangents
    item_turn(a, b, c, doubt);
    const real_t x = arc_crossing_x(a, b, c, d);
    long key;
    *doubt |= !arc_above_both(0, a, b, c, d, x, &key);
    return (point_t)(x, value_of(key, 0));
}
% endif

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_outline_local(global const real_t *points, const uint m, const uint segments, const uint tiles,
                       global point_t *staged, global uint *counts, global uint *flag, const uint all,
                       const uint span)
{
    local point_t candidates[ROOM], hulls[2 * SIDE];
    local ushort sizes[2 * WG_SIZE], touched_q[2 * WG_SIZE], touched_p[2 * WG_SIZE];
    local ushort touched_from[2 * WG_SIZE], touched_to[2 * WG_SIZE], stores[2 * WG_SIZE], valleys[2 * WG_SIZE];
    local ulong values[2 * WG_SIZE];
% if not exact:
    local uint in_doubt;
% endif
    const uint lid = get_local_id(0);
% if exact:
    for (uint group = get_group_id(0) * span; group < min((uint)(get_group_id(0) + 1) * span, tiles); ++group) {
    if (all || counts[3 * (size_t)tiles + group]) {
% else:
    const uint group = get_group_id(0);
    if (lid == 0)
        in_doubt = 0;
% endif
    int doubt = 0;
    const uint tile = group * OWN, tile_end = min(tile + OWN, segments);

    // From a little before the segment before the tile to the end of the one after, and the first candidate of the next.
    const uint tile_first = arc_nominal(0, m, segments, tile), tile_last = arc_nominal(0, m, segments, tile_end);
    const uint before = arc_nominal(0, m, segments, max(tile, 1u) - 1), after = arc_nominal(0, m, segments, tile_end + 1);
    const uint from = max(before, (uint)MARGIN) - MARGIN, to = after + 1;
    for (uint i = from + lid; i < to; i += WG_SIZE)
        candidates[PLACE(i - from)] = CLGEOM_LOAD2(${real}, points, min(i, m - 1));      // the last once more

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
        for (uint i = lid; i <= last - first; i += WG_SIZE)
            candidates[PLACE(RIGHT_AT + i)] = CLGEOM_LOAD2(${real}, points, min(first + i, m - 1));
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

    // Corners of the columns' lowest and highest candidates.
    uint low_size = 0, high_size = 0;
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
% if items_per_thread <= 4:
        uint there = 0;
        const uint ends = m - 1 - first;
% for k in range(4):
        const point_t low${k} = low, high${k} = TURNED(1, here);
        if (${k} < count) {
            const point_t next = candidates[PLACE(at + ${k + 1})];
% if check:
            ordered &= arc_is_finite(here) & arc_in_order(here, next);
% endif
            if (next.x != here.x || ${k} == ends) {
                there |= ${2**k};
                low = next;
            }
            here = next;
        }
% endfor
% for side in ("low", "high"):
        const uint ${side}_stay = item_corners(there, ${side}0, ${side}1, ${side}2, ${side}3, &doubt);
% for k in range(4):
        if (${side}_stay & ${2**k})
            hulls[${"SIDE + " if side == "high" else ""}${side}_size++ * WG_SIZE + lid] = ${side}${k};
% endfor
% endfor
% else:
        chain_t lower = {0, 0, 0}, upper = {0, 0, 0};
        for (uint k = 0; k < count; ++k) {
            const int last = first + k + 1 == m;
            const point_t next = last ? here : candidates[PLACE(at + k + 1)];
% if check:
            ordered &= arc_is_finite(here) & arc_in_order(here, next);
% endif
            if (last || next.x != here.x) {
                item_push(hulls + lid, &lower, low, &doubt);
                item_push(hulls + SIDE + lid, &upper, TURNED(1, here), &doubt);
                low = next;
            }
            here = next;
        }
        low_size = lower.size;
        high_size = upper.size;
% endif
% if check:
        if (!ordered)
            atomic_or(flag, 1u);
% endif
    }
    for (uint side = 0; side < 2; ++side) {
        sizes[side * WG_SIZE + lid] = side ? high_size : low_size;
        touched_q[side * WG_SIZE + lid] = side * SIDE + lid;      // where no tangent comes from the left
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint other = lid + 1;                                          // the next segment that is not empty
    while (low_size && other < WG_SIZE && sizes[other] == 0)
        ++other;
    uint p[2];
    for (uint side = 0; side < 2; ++side) {
        const uint lefts = side * SIDE + lid, rights = side * SIDE + other;
        p[side] = lefts + (max(side ? high_size : low_size, 1u) - 1) * WG_SIZE;
        if (low_size && other < WG_SIZE) {
            const uint q_last = rights + (sizes[side * WG_SIZE + other] - 1) * WG_SIZE;
            const uint2 touched = item_tangent(hulls, lefts, p[side], rights, q_last, &doubt);
            p[side] = touched.x;
            touched_to[side * WG_SIZE + lid] = touched_q[side * WG_SIZE + other] = touched.y;
            touched_from[side * WG_SIZE + other] = touched.x;
        }
        touched_p[side * WG_SIZE + lid] = p[side];
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    // Before it: lower vertices, upper ones, valleys, segments; 16 bits each.
    const uint has = own && low_size;
    uint q[2], valley[2], vertices[2];
    for (uint side = 0; side < 2; ++side) {
        q[side] = touched_q[side * WG_SIZE + lid];
        valley[side] = has && q[side] > p[side];
        vertices[side] = !has ? 0 : !valley[side] ? (p[side] - q[side]) / WG_SIZE + 1 : ${2 if paper else 1};
    }
    ulong sum;
    const ulong before_me = group_before_doubled(
        vertices[0] | vertices[1] << 16 | (ulong)(valley[0] + valley[1] | has << 16) << 32, lid, values, &sum);
    const uint all_lower = sum & 0xffff, vertices_of_all = all_lower + (sum >> 16 & 0xffff);
    if (lid == 0) {
        counts[group] = all_lower;
        counts[tiles + group] = vertices_of_all - all_lower;
        counts[2 * tiles + group] = sum >> 48;
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
% if not paper:
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint v = lid; v < (sum >> 32 & 0xffff); v += WG_SIZE) {
        const uint item = valleys[v];
        outline[stores[item]] = item_crossing(hulls[touched_from[item]], hulls[touched_q[item]],
                                              hulls[touched_p[item]], hulls[touched_to[item]], &doubt);
    }
% endif
% if not exact:
    if (doubt)
        atomic_or(&in_doubt, 1u);
% endif
    barrier(CLK_LOCAL_MEM_FENCE);
% if not exact:
    if (lid == 0)
        counts[3 * (size_t)tiles + group] = in_doubt;
% endif
    for (uint k = lid; k < vertices_of_all; k += WG_SIZE)                     // -0.0 + 0 is 0, however points were sorted
        staged[2 * (size_t)tile_first + k] = TURNED(k >= all_lower, outline[k]) + (real_t)0;
% if exact:
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    }
% endif
}
