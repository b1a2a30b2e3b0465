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
//   records    higher (lower) than all of the tile before them, or than all after: nothing else can be a corner, for it
//              is on or below the line from one to another
//   corners    [ c0 c1 c2 ..                    | c0 ..              see arc_segments.h
//
// Of n candidates in no particular order about 2 ln n are records.
% if variant == "serial":
// A work-item takes a block; of a strip's heights it keeps the extremes, and looks again where they are records.
% else:
// One work-item a side adds them to a monotone chain in local memory. A block where they are too many goes through global
// memory, a strip to a work-item, and merges.
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
        const int turn = TURN(side, below, top, p);
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
#define ROOM 256                           // records of a tile and side, and corners of a block and side, kept in local memory
#include "arc_group.h"

typedef ${height} height_t;                // wider than a coordinate, or with infinities
typedef ${height}2 heights_t;              // greatest, least
#define LOWEST ((height_t)${lowest})
#define HIGHEST ((height_t)${highest})
#define CHAIN_ITEM(side) (WG_SIZE > 32 ? 32 * (side) : 0)     // not in one warp
typedef struct { real_t x[ROOM], y[ROOM]; uint id[ROOM]; } list_t;

// Andrew's chain goes on with the records of a tile; returns the new size, or ROOM + 1 when it does not fit.
inline uint item_chain_on(local list_t *stack, uint size, local const list_t *records, uint count, uint side)
{
    for (uint k = 0; k < count; ++k) {
        const point_t p = (point_t)(records->x[k], records->y[k]);
        if (size > 0 && p.x == stack->x[size - 1]) {
            const real_t top = stack->y[size - 1];
            if (side ? p.y <= top : p.y >= top)
                continue;
            --size;
        }
        while (size > 1) {
            const point_t below = (point_t)(stack->x[size - 2], stack->y[size - 2]);
            const point_t top = (point_t)(stack->x[size - 1], stack->y[size - 1]);
            const int turn = TURN(side, below, top, p);
            if (IS_CORNER(turn))
                break;
            --size;
        }
        if (size == ROOM)
            return ROOM + 1;
        stack->x[size] = p.x;
        stack->y[size] = p.y;
        stack->id[size++] = records->id[k];
    }
    return size;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_hulls_blocks(global const real_t *points, const uint m, global const uint *cuts, const uint blocks,
                      global uint *corners, global uint *ranges, global uint *flag)
{
    local heights_t strips[WG_SIZE], chunks[ARC_CHUNKS];
    local uint values[WG_SIZE], sums[ARC_CHUNKS + 1], parts[3 * WG_SIZE], sizes[2];
    local list_t records[2], stacks[2];
    const uint lid = get_local_id(0), block = get_group_id(0), begin = cuts[block], end = cuts[block + 1];
    if (lid == 0)
        sizes[0] = sizes[1] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    // Tiles begin at even numbers, so that two points are one aligned load.
    uint fits = 1;
    for (uint tile = begin & ~1u; tile < end && fits; tile += TILE) {
        const uint first = tile + lid * STRIP;
        height_t y[STRIP];
        heights_t own = (heights_t)(LOWEST, HIGHEST);
% if check:
        point_t previous = first > 0 && first < end ? POINT(points, first - 1) : (point_t)0;
        uint bad = 0;
% endif
#pragma unroll
        for (uint k = 0; k < STRIP; k += 2) {
            const uint i = first + k;
            ${real}4 two = 0;
            if (i + 1 < end)
                two = CLGEOM_LOAD4(${real}, points, i / 2);
            else if (i < end)
                two.xy = POINT(points, i);
            const int has_first = i >= begin && i < end, has_second = i + 1 >= begin && i + 1 < end;
            own.x = max(own.x, max(has_first ? (height_t)two.y : LOWEST, has_second ? (height_t)two.w : LOWEST));
            own.y = min(own.y, min(has_first ? (height_t)two.y : HIGHEST, has_second ? (height_t)two.w : HIGHEST));
            y[k] = two.y;
            y[k + 1] = two.w;
% if check:
            bad |= has_first && (!arc_is_finite(two.xy) || (i > 0 && !arc_in_order(previous, two.xy)));
            bad |= has_second && (!arc_is_finite(two.zw) || (i + 1 > 0 && !arc_in_order(two.xy, two.zw)));
            previous = two.zw;
% endif
        }
% if check:
        if (bad)
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
        heights_t before = (heights_t)(LOWEST, HIGHEST), after = before;
        const uint mine = lid / ARC_CHUNK;
        for (uint c = 0; c < ARC_CHUNKS; ++c) {
            const heights_t chunk = chunks[c];
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

        // Which of the strip's candidates are records: bits.
        uint high = 0, low = 0;
        if (own.x > min(before.x, after.x) || own.y < max(before.y, after.y)) {
#pragma unroll
            for (uint k = 0; k < STRIP; ++k)
                if (first + k >= begin && first + k < end) {
                    high |= (uint)(y[k] > before.x) << k;
                    low |= (uint)(y[k] < before.y) << k;
                    before = (heights_t)(max(before.x, y[k]), min(before.y, y[k]));
                }
#pragma unroll
            for (uint j = 0; j < STRIP; ++j) {
                const uint k = STRIP - 1 - j;
                if (first + k >= begin && first + k < end) {
                    high |= (uint)(y[k] > after.x) << k;
                    low |= (uint)(y[k] < after.y) << k;
                    after = (heights_t)(max(after.x, y[k]), min(after.y, y[k]));
                }
            }
        }
        const uint at = group_before(popcount(low) | popcount(high) << 16, lid, values, sums);
        const uint counts = sums[ARC_CHUNKS];
        fits = (counts & 0xffff) <= ROOM && counts >> 16 <= ROOM;
        if (fits && (low | high)) {
            uint to_low = at & 0xffff, to_high = at >> 16;
            for (uint k = 0; k < STRIP; ++k)
                if ((low | high) >> k & 1) {
                    const point_t p = POINT(points, first + k);
                    if (low >> k & 1) {
                        records[0].x[to_low] = p.x;
                        records[0].y[to_low] = p.y;
                        records[0].id[to_low++] = first + k;
                    }
                    if (high >> k & 1) {
                        records[1].x[to_high] = p.x;
                        records[1].y[to_high] = p.y;
                        records[1].id[to_high++] = first + k;
                    }
                }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint side = 0; side < 2; ++side)
            if (fits && lid == CHAIN_ITEM(side))
                sizes[side] = item_chain_on(&stacks[side], sizes[side], &records[side],
                                            side ? counts >> 16 : counts & 0xffff, side);
        barrier(CLK_LOCAL_MEM_FENCE);
        fits = fits && sizes[0] <= ROOM && sizes[1] <= ROOM;
    }
    for (uint side = 0; side < 2; ++side) {
        global uint *list = corners + (size_t)side * m + begin;
        uint size = sizes[side];
        if (fits)
            for (uint k = lid; k < size; k += WG_SIZE)
                list[k] = stacks[side].id[k];
        else {
            for (uint k = lid; k < end - begin; k += WG_SIZE)
                list[k] = begin + k;
            ARC_FENCE();
            size = group_hull_of_list(points, list, end - begin, side, lid, values, parts);
        }
        if (lid == 0)
            vstore2(end > begin ? (uint2)(begin, begin + size - 1) : (uint2)(1, 0), (size_t)side * blocks + block, ranges);
    }
}
% endif
