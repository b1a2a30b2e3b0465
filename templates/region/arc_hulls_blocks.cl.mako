<%page args="real='float', filtered=True, check=False, variant='group', wg_size=64, items_per_thread=8"/>\
<%
    height = "long" if real == "int" else real
    lowest, highest = ("LONG_MIN", "LONG_MAX") if real == "int" else ("-INFINITY", "INFINITY")
    lanes = 4 if real == "double" else 8
%>\
// arc_hulls_blocks: the upper and the lower hull of every block of many candidates, read once; a work-group to a block.
//
//   candidates | block 0: tile | tile | ..      | block 1 ..         ascending x, lexicographic order where x are equal
//   tile       | strip | strip | ..                                  ${items_per_thread} candidates to a work-item
//   records    higher (lower) than all strips of the block before them, or than all of the tile after: nothing else can be
//              a corner, for it is on or below the line from one point to another
//   corners    [ c0 c1 c2 ..                    | c0 ..              see arc_segments.h
//
// Of n candidates in no particular order about 3 ln n are left.
% if variant == "serial":
// A work-item takes a block; of a strip's heights it keeps the extremes, and looks again where they are records.
% else:
// They gather in local memory; each then looks at all others for a line that they are on or below. A block where they are
// too many goes through global memory, a strip to a work-item, and merges.
% endif
% if check:
// flag is set if candidates are not in lexicographic order, or not finite.
% endif
// Reads every candidate once, with one comparison each way, and O(log n) again of random ones.
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
#include "arc_order.h"
% if variant == "serial":
#define STRIP 32
#define STRIPS ${max(items_per_thread, 1)}         // in a tile
#define TILE (STRIPS * STRIP)
typedef ${real}${lanes} lanes_t;

// Andrew's chain goes on with one candidate; `side` is a constant where this is called.
inline uint item_push(global const real_t *points, global uint *stack, uint size, uint id, uint side)
{
    const point_t p = POINT(points, id);
    point_t top = size > 0 ? POINT(points, stack[size - 1]) : p;
    if (size > 0 && p.x == top.x) {
        if (side ? p.y <= top.y : p.y >= top.y)
            return size;
        --size;
        top = size > 0 ? POINT(points, stack[size - 1]) : p;
    }
    while (size > 1) {
        const point_t below = POINT(points, stack[size - 2]);
        const int turn = arc_turn(side, below, top, p);
        if (IS_CORNER(turn))
            break;
        --size;
        top = below;
    }
    stack[size] = id;
    return size + 1;
}

// Adds the records of a tile, from `first` on: those of ends[s], the highest (lowest) of strip s, that are beyond all before
// or all after.
inline uint item_records(global const real_t *points, uint first, uint last, const real_t *ends, global uint *stack,
                         uint size, uint side)
{
#define BEYOND(a, b) (side ? (a) > (b) : (a) < (b))
    const uint strips = (last - first + STRIP - 1) / STRIP;
    uint peak = 0;                         // records rise to it from the left, and to its last equal from the right
    for (uint s = 1; s < strips; ++s)
        peak = BEYOND(ends[s], ends[peak]) ? s : peak;
    real_t after[STRIPS];                  // the best of all strips after
    real_t best = ends[strips - 1];
    for (uint s = strips - 1; s > peak; --s) {
        after[s] = best;
        best = BEYOND(ends[s - 1], best) ? ends[s - 1] : best;
    }
    best = ends[0];
    for (uint s = 0; s < strips; ++s) {
        const uint begin = first + s * STRIP, end = min(begin + STRIP, last);
        const int rises = s <= peak, falls = s >= peak;
        if (s < peak && s > 0 && !BEYOND(ends[s], best))
            continue;
        if (s > peak && s + 1 < strips && !BEYOND(ends[s], after[s + 1]))
            continue;
        real_t before = best;
        int none = s == 0;
        uint falling = 0;                  // bits of what is beyond all after it
        if (falls) {
            int alone = s + 1 == strips;
            real_t beyond = alone ? 0 : s == peak ? after[peak + 1] : after[s + 1];
            for (uint k = end - begin; k-- > 0;) {
                const real_t y = points[2 * (size_t)(begin + k) + 1];
                if (alone || BEYOND(y, beyond)) {
                    falling |= 1u << k;
                    beyond = y;
                    alone = 0;
                }
            }
        }
        for (uint k = 0; k < end - begin; ++k) {
            const real_t y = points[2 * (size_t)(begin + k) + 1];
            const int rising = rises && (none || BEYOND(y, before));
            if (rising) {
                before = y;
                none = 0;
            }
            if (rising || falling >> k & 1)
                size = item_push(points, stack, size, begin + k, side);
        }
        best = BEYOND(ends[s], best) ? ends[s] : best;
    }
    return size;
#undef BEYOND
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_hulls_blocks(global const real_t *points, const uint m, global const uint *cuts, const uint blocks,
                      global uint *corners, global uint *ranges, global uint *flag)
{
    const uint block = get_group_id(0), begin = cuts[block], end = cuts[block + 1];
    global uint *low = corners + begin, *high = corners + (size_t)m + begin;
    uint low_size = 0, high_size = 0;
    for (uint tile = begin; tile < end; tile += TILE) {
        const uint last = min(tile + TILE, end);
        real_t tops[STRIPS], bottoms[STRIPS];
        uint broken = 0;
        for (uint s = 0; s * STRIP < last - tile; ++s) {
            const uint first = tile + s * STRIP, count = min((uint)STRIP, last - first);
            global const real_t *strip = points + 2 * (size_t)first;
            if (count == STRIP) {
                lanes_t top = vload${lanes}(0, strip), bottom = top;
                for (uint k = 1; k < 2 * STRIP / ${lanes}; ++k) {
                    const lanes_t v = vload${lanes}(k, strip);
                    top = v > top ? v : top;
                    bottom = v < bottom ? v : bottom;
                }
                real_t t = top.s1, b = bottom.s1;
% for lane in range(3, lanes, 2):
                t = top.s${lane} > t ? top.s${lane} : t;
                b = bottom.s${lane} < b ? bottom.s${lane} : b;
% endfor
                tops[s] = t;
                bottoms[s] = b;
% if check:
                for (int k = first == 0; k < STRIP; ++k) {        // no branches
                    const real_t ax = strip[2 * k - 2], ay = strip[2 * k - 1], bx = strip[2 * k], by = strip[2 * k + 1];
                    broken |= !((ax < bx) | ((ax == bx) & (ay <= by)))${"" if real == "int" else " | !(bx - bx == 0) | !(by - by == 0)"};
                }
                broken |= first == 0 && !arc_is_finite(POINT(points, 0));
% endif
            } else {
                real_t t = strip[1], b = t;
                for (uint k = 0; k < count; ++k) {
                    const real_t y = strip[2 * k + 1];
                    t = y > t ? y : t;
                    b = y < b ? y : b;
% if check:
                    broken |= !arc_is_finite(POINT(strip, k)) ||
                              (first + k > 0 && !arc_in_order(POINT(points, first + k - 1), POINT(strip, k)));
% endif
                }
                tops[s] = t;
                bottoms[s] = b;
            }
        }
% if check:
        if (broken)
            atomic_or(flag, 1u);
% endif
        low_size = item_records(points, tile, last, bottoms, low, low_size, 0);
        high_size = item_records(points, tile, last, tops, high, high_size, 1);
    }
    vstore2(end > begin ? (uint2)(begin, begin + low_size - 1) : (uint2)(1, 0), block, ranges);
    vstore2(end > begin ? (uint2)(begin, begin + high_size - 1) : (uint2)(1, 0), (size_t)blocks + block, ranges);
}
% else:
#define STRIP ${items_per_thread}          // even, at most 32
#define TILE (WG_SIZE * STRIP)
#define ROOM 256                           // candidates of a side kept in local memory
#define FULL 48                            // above so many only their corners are kept
#include "arc_group.h"

typedef ${height} height_t;                // wider than a coordinate, or with infinities
typedef ${height}2 heights_t;              // greatest, least
#define LOWEST ((height_t)${lowest})
#define HIGHEST ((height_t)${highest})
typedef struct { real_t x[2 * ROOM], y[2 * ROOM]; uint id[2 * ROOM]; } list_t;      // of the lower side, of the upper one
typedef struct { uint low, high; } sizes_t;

// Whether entry i of a side's n is a corner of their hull: the steepest line to it from the left turns towards the side on
// its way to the right. n tests; those of different entries are side by side.
inline int item_is_corner(local const list_t *list, uint first, uint n, uint i, uint side)
{
    const point_t p = (point_t)(list->x[first + i], list->y[first + i]);
    point_t left = p, right = p;
    for (uint j = 0; j < n; ++j) {
        const point_t q = (point_t)(list->x[first + j], list->y[first + j]);
        const int before = q.x < p.x;
        if (q.x == p.x) {
            if ((side ? q.y > p.y : q.y < p.y) || (q.y == p.y && j < i))
                return 0;
        } else if ((before ? left.x : right.x) == p.x || arc_turn(side, before ? left : p, before ? p : right, q) < 0) {
            if (before)
                left = q;
            else
                right = q;
        }
    }
    if (left.x == p.x || right.x == p.x)
        return 1;
    const int turn = arc_turn(side, left, p, right);
    return IS_CORNER(turn);
}

// Leaves the corners of both lists. Called by all of the group.
inline sizes_t group_corners(local list_t *list, const sizes_t sizes, uint lid, local uchar *stays, local uint *values,
                             local uint *sums)
{
    const uint all = sizes.low + sizes.high;
    sizes_t left = {0, 0};
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint e = lid; e < all; e += WG_SIZE) {
        const uint side = e >= sizes.low;
        stays[e] = item_is_corner(list, side ? ROOM : 0, side ? sizes.high : sizes.low, side ? e - sizes.low : e, side);
    }
    for (uint base = 0; base < all; base += WG_SIZE) {
        const uint e = base + lid, side = e >= sizes.low, from = side ? ROOM + e - sizes.low : e;
        const uint mine = e < all && stays[e];
        real_t x = 0, y = 0;
        uint id = 0;
        if (mine) {
            x = list->x[from];
            y = list->y[from];
            id = list->id[from];
        }
        uint counts;
        const uint at = group_before(mine << 16 * side, lid, values, sums, &counts);      // after that all have read
        if (mine) {
            const uint to = side ? ROOM + left.high + (at >> 16) : left.low + (at & 0xffff);
            list->x[to] = x;
            list->y[to] = y;
            list->id[to] = id;
        }
        left.low += counts & 0xffff;
        left.high += counts >> 16;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return left;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_hulls_blocks(global const real_t *points, const uint m, global const uint *cuts, const uint blocks,
                      global uint *corners, global uint *ranges, global uint *flag)
{
    local heights_t strips[WG_SIZE], chunks[ARC_CHUNKS];
    local uint values[WG_SIZE], sums[ARC_CHUNKS], parts[3 * WG_SIZE];
    local list_t list;
    local uchar stays[2 * ROOM];
    const uint lid = get_local_id(0), block = get_group_id(0), begin = cuts[block], end = cuts[block + 1];
    sizes_t sizes = {0, 0};
    heights_t passed = (heights_t)(LOWEST, HIGHEST);       // the greatest and the least height of all tiles before

    // Tiles begin at even numbers, so that two points are one aligned load.
    uint fits = 1;
    for (uint tile = begin & ~1u;; tile += TILE) {         // after the last one, one without candidates
        const uint first = tile + lid * STRIP;
        height_t y[STRIP];
        heights_t own = (heights_t)(LOWEST, HIGHEST);
        const uint whole = first >= begin && first + STRIP <= end;
        const uint inside = whole ? ~0u >> (32 - STRIP)                  // bits of the strip's candidates in the block
                                  : (first + STRIP <= begin || first >= end ? 0
                                     : (~0u >> (32 - STRIP) & (begin > first ? ~0u << (begin - first) : ~0u) &
                                        (end - first < STRIP ? ~(~0u << (end - first)) : ~0u)));
% if check:
        point_t previous = first > 0 && first < end ? POINT(points, first - 1) : (point_t)0;
        uint bad = 0;
        real_t wild = 0;                                                 // NaN after an infinity or a NaN
% endif
#pragma unroll
        for (uint k = 0; k < STRIP; k += 2) {
            const uint i = first + k;
            ${real}4 two = 0;
            if (whole || i + 1 < end)
                two = CLGEOM_LOAD4(${real}, points, i / 2);
            else if (i < end)
                two.xy = POINT(points, i);
            if (inside >> k & 1) {              // asking for `whole` first here makes NVIDIA's compiler (580) go wrong
                own = (heights_t)(max(own.x, (height_t)two.y), min(own.y, (height_t)two.y));
% if check:
                bad |= i > 0 && !arc_in_order(previous, two.xy);
% if real != "int":
                wild = fma(two.x, (real_t)0, fma(two.y, (real_t)0, wild));
% endif
% endif
            }
            if (inside >> (k + 1) & 1) {
                own = (heights_t)(max(own.x, (height_t)two.w), min(own.y, (height_t)two.w));
% if check:
                bad |= i + 1 > 0 && !arc_in_order(two.xy, two.zw);
% if real != "int":
                wild = fma(two.z, (real_t)0, fma(two.w, (real_t)0, wild));
% endif
% endif
            }
% if check:
            previous = two.zw;
% endif
            y[k] = two.y;
            y[k + 1] = two.w;
        }
% if check:
        if (bad || wild != 0)
            atomic_or(flag, 1u);
% endif

        // The greatest and the least height of all strips before, and of all after.
        strips[lid] = own;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint c = lid; c < ARC_CHUNKS; c += WG_SIZE) {
            heights_t all = (heights_t)(LOWEST, HIGHEST);
            for (uint k = c * ARC_CHUNK; k < min((c + 1) * ARC_CHUNK, (uint)WG_SIZE); ++k)
                all = (heights_t)(max(all.x, strips[k].x), min(all.y, strips[k].y));
            chunks[c] = all;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        heights_t before = passed, after = (heights_t)(LOWEST, HIGHEST);
        const uint mine = lid / ARC_CHUNK;
        for (uint c = 0; c < ARC_CHUNKS; ++c) {
            const heights_t chunk = chunks[c];
            passed = (heights_t)(max(passed.x, chunk.x), min(passed.y, chunk.y));
            if (c < mine)
                before = (heights_t)(max(before.x, chunk.x), min(before.y, chunk.y));
            if (c > mine)
                after = (heights_t)(max(after.x, chunk.x), min(after.y, chunk.y));
        }
        for (uint k = mine * ARC_CHUNK; k < min((mine + 1) * ARC_CHUNK, (uint)WG_SIZE); ++k) {
            const heights_t strip = strips[k];
            if (k < lid)
                before = (heights_t)(max(before.x, strip.x), min(before.y, strip.y));
            if (k > lid)
                after = (heights_t)(max(after.x, strip.x), min(after.y, strip.y));
        }

        // Which of the strip's candidates may be records: bits of those beyond all strips before, or all after.
        const height_t above = min(before.x, after.x), below = max(before.y, after.y);
        uint high = 0, low = 0;
        if (own.x > above || own.y < below) {
#pragma unroll
            for (uint k = 0; k < STRIP; ++k) {
                high |= (uint)(y[k] > above) << k;
                low |= (uint)(y[k] < below) << k;
            }
            high &= inside;
            low &= inside;
        }
        uint counts;
        const uint at = group_before(popcount(low) | popcount(high) << 16, lid, values, sums, &counts);
        const uint new_low = counts & 0xffff, new_high = counts >> 16;
        if (tile >= end || sizes.low + new_low > FULL || sizes.high + new_high > FULL)
            sizes = group_corners(&list, sizes, lid, stays, values, sums);
        if (tile >= end)
            break;
        fits = sizes.low + new_low <= ROOM && sizes.high + new_high <= ROOM;
        if (fits && (low | high)) {
            uint to_low = sizes.low + (at & 0xffff), to_high = ROOM + sizes.high + (at >> 16);
            for (uint bits = low | high; bits; bits &= bits - 1) {
                const uint k = 31 - clz(bits & -bits);
                const point_t p = POINT(points, first + k);
                if (low >> k & 1) {
                    list.x[to_low] = p.x;
                    list.y[to_low] = p.y;
                    list.id[to_low++] = first + k;
                }
                if (high >> k & 1) {
                    list.x[to_high] = p.x;
                    list.y[to_high] = p.y;
                    list.id[to_high++] = first + k;
                }
            }
        }
        sizes.low += new_low;
        sizes.high += new_high;
        if (!fits)
            break;
    }
    for (uint side = 0; side < 2; ++side) {
        global uint *out = corners + (size_t)side * m + begin;
        uint size = side ? sizes.high : sizes.low;
        if (fits)
            for (uint k = lid; k < size; k += WG_SIZE)
                out[k] = list.id[side * ROOM + k];
        else {
            for (uint k = lid; k < end - begin; k += WG_SIZE)
                out[k] = begin + k;
            ARC_FENCE();
            size = group_hull_of_list(points, out, end - begin, side, lid, values, parts);
        }
        if (lid == 0)
            vstore2(end > begin ? (uint2)(begin, begin + size - 1) : (uint2)(1, 0), (size_t)side * blocks + block, ranges);
    }
}
% endif
