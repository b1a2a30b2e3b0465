<%page args="real='float', filtered=True, check=False, variant='group', wg_size=64, items_per_thread=8"/>\
<%
    height = "long" if real == "int" else real
    lowest, highest = ("LONG_MIN", "LONG_MAX") if real == "int" else ("-INFINITY", "INFINITY")
    lanes = 4 if real == "double" else 8
%>\
% if variant == "serial":
// arc_hulls_blocks: the upper and the lower hull of every block of many candidates, read once; a work-item to a block.
% else:
// arc_hulls_blocks: the few of every block of many candidates that may be corners, read once; a work-group to a block.
% endif
//
//   candidates | block 0: tile | tile | ..      | block 1 ..         ascending x, lexicographic order where x are equal
% if variant == "serial":
//   tile       | strip | strip | ..                                  32 candidates to a strip
% else:
//   tile       | row: run | run | ..       | row: run ..             ${min(items_per_thread, 8)} candidates to a run, a run to a work-item
% endif
//   records    higher (lower) than all of the block before them, or than all of the tile after: nothing else can be a
//              corner, for it is on or below the line from one point to another
//   corners    [ c0 c1 c2 ..                    | c0 ..              see arc/arc_segments.h
//
// Of n candidates in no particular order about 2 ln n are left to each side.
% if variant == "serial":
// A work-item takes a block; of a strip's heights it keeps the extremes, and looks again where they are records.
% else:
// Of a run only the extremes are kept, in local memory; few runs have records, and these are read again. arc_corners goes
// on with them: tests of orientation take so many registers that too few groups would be at work to read at full speed.
% endif
% if check:
// flag is set if candidates are not in lexicographic order, or not finite.
% endif
// Reads every candidate once, with one comparison each way, and O(log n) again of random ones.
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP 0
#include "hood/hood.h"
#include "arc/arc_turn.h"
#define WG_SIZE ${wg_size}
#define POINT(points, id) CLGEOM_LOAD2(${real}, points, id)
#include "arc/arc_order.h"
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
% if check:
    if (begin > end)
        atomic_or(flag, 1u);
% endif
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
<%
    run = min(items_per_thread, 8)
%>\
#define RUN ${run}                              // even; candidates side by side that a work-item takes of each row
#define ROWS ${items_per_thread // run}                             // ROWS * RUN is at most 64
#define TILE (WG_SIZE * RUN * ROWS)
#include "arc/arc_before.h"

typedef ${height} height_t;                // wider than a coordinate, or with infinities
typedef ${height}2 heights_t;              // above the x axis, below it
#define LOWEST ((height_t)${lowest})
#define HEIGHTS(y) (heights_t)((height_t)(y), -(height_t)(y))
#define PLACE(run) ((run) + (run) / 8)     // work-items that read runs 8 apart are on different banks
#define CHUNKED(item) ((item) + (item) / ARC_CHUNK + 1)

// Bits of a run's candidates that are higher than all before them, or than all after. Few runs have such candidates; these
// are read again.
inline uint item_records(global const real_t *points, uint first, uint begin, uint end, uint side, height_t before,
                         height_t after)
{
    height_t heights[RUN];
    uint bits = 0;
#pragma unroll
    for (uint k = 0; k < RUN; ++k) {                       // all loads before the first comparison
        const uint i = first + k;
        const height_t y = points[2 * (size_t)min(i, end - 1) + 1];
        heights[k] = i < begin || i >= end ? LOWEST : side ? y : -y;
    }
#pragma unroll
    for (uint k = 0; k < RUN; ++k) {
        bits |= heights[k] > before ? 1u << k : 0;
        before = max(before, heights[k]);
    }
#pragma unroll
    for (uint k = RUN; k-- > 0;) {
        bits |= heights[k] > after ? 1u << k : 0;
        after = max(after, heights[k]);
    }
    return bits;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_hulls_blocks(global const real_t *points, const uint m, global const uint *cuts, const uint blocks,
                      global uint *corners, global uint *ranges, global uint *flag)
{
    local heights_t runs[PLACE(WG_SIZE * ROWS) + 1], items[CHUNKED(WG_SIZE)], lefts[CHUNKED(WG_SIZE)];
    local heights_t chunks[ARC_CHUNKS];
    local uint values[WG_SIZE], sums[ARC_CHUNKS];
    const uint lid = get_local_id(0), block = get_group_id(0), begin = cuts[block], end = cuts[block + 1];
    global uint *low_list = corners + begin, *high_list = corners + (size_t)m + begin;
    uint low_size = 0, high_size = 0;
    heights_t passed = (heights_t)(LOWEST, LOWEST);        // the greatest heights of all tiles before
% if check:
    uint bad = begin > end;
    if (lid == 0 && begin < end)
        bad = !(arc_is_finite(POINT(points, begin)) && arc_is_finite(POINT(points, end - 1)));
% if real != "int":
    real_t wild = 0;                                       // NaN after an infinity or a NaN; x need no look, in order
% endif
% endif
    for (uint tile = begin & ~(RUN - 1u); tile < end; tile += TILE) {
        // Rows of runs, one run to a work-item, are read at full speed: neighbours read neighbouring sectors.
        const uint rows = min((uint)ROWS, (end - tile + WG_SIZE * RUN - 1) / (WG_SIZE * RUN));
        for (uint row = 0; row < rows; ++row) {
            const uint run = row * WG_SIZE + lid, first = tile + run * RUN;
            heights_t own = (heights_t)(LOWEST, LOWEST);
            if (first >= begin && first + RUN <= end) {
                ${real}4 two[RUN / 2];
#pragma unroll
                for (uint k = 0; k < RUN / 2; ++k)
                    two[k] = CLGEOM_LOAD4(${real}, points, first / 2 + k);
% if check:
                point_t previous = POINT(points, max(first, 1u) - 1);
% endif
#pragma unroll
                for (uint k = 0; k < RUN / 2; ++k) {
                    own = max(own, max(HEIGHTS(two[k].y), HEIGHTS(two[k].w)));
% if check:
                    bad |= !arc_in_order(previous, two[k].xy) | !arc_in_order(two[k].xy, two[k].zw);
                    previous = two[k].zw;
% if real != "int":
                    wild = fma(two[k].y, (real_t)0, fma(two[k].w, (real_t)0, wild));
% endif
% endif
                }
            } else
                for (uint i = max(first, begin); i < min(first + RUN, end); ++i) {
                    const point_t p = POINT(points, i);
                    own = max(own, HEIGHTS(p.y));
% if check:
                    bad |= !arc_is_finite(p) || !arc_in_order(POINT(points, max(i, 1u) - 1), p);
% endif
                }
            runs[PLACE(run)] = own;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        // The greatest heights of all runs before a work-item's own, which are now side by side, and of all after.
        heights_t tops[ROWS], own = (heights_t)(LOWEST, LOWEST);
#pragma unroll
        for (uint e = 0; e < ROWS; ++e) {
            tops[e] = e < rows ? runs[PLACE(lid * rows + e)] : (heights_t)(LOWEST, LOWEST);
            own = max(own, tops[e]);
        }
        items[CHUNKED(lid)] = own;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint c = lid; c < ARC_CHUNKS; c += WG_SIZE) {
            const uint from = c * ARC_CHUNK, to = min(from + ARC_CHUNK, (uint)WG_SIZE);
            heights_t all = (heights_t)(LOWEST, LOWEST);
            for (uint k = from; k < to; ++k) {
                lefts[CHUNKED(k)] = all;
                all = max(all, items[CHUNKED(k)]);
            }
            chunks[c] = all;
            all = (heights_t)(LOWEST, LOWEST);
            for (uint k = to; k-- > from;) {
                const heights_t item = items[CHUNKED(k)];
                items[CHUNKED(k)] = all;                     // of those to the right of it
                all = max(all, item);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        heights_t before = max(passed, lefts[CHUNKED(lid)]), after = items[CHUNKED(lid)];
        const uint mine = lid / ARC_CHUNK;
#pragma unroll
        for (uint c = 0; c < ARC_CHUNKS; ++c) {
            const heights_t chunk = chunks[c];
            passed = max(passed, chunk);
            before = c < mine ? max(before, chunk) : before;
            after = c > mine ? max(after, chunk) : after;
        }

        // Runs that have such candidates, then these.
        const uint first = tile + lid * rows * RUN;
        ulong high = 0, low = 0;
        if (own.x > min(before.x, after.x) || own.y > min(before.y, after.y)) {
            uint highs = 0, lows = 0;
            heights_t most = before;
#pragma unroll
            for (uint e = 0; e < ROWS; ++e) {
                highs |= tops[e].x > most.x ? 1u << e : 0;
                lows |= tops[e].y > most.y ? 1u << e : 0;
                most = max(most, tops[e]);
            }
            most = after;
#pragma unroll
            for (uint e = ROWS; e-- > 0;) {
                highs |= tops[e].x > most.x ? 1u << e : 0;
                lows |= tops[e].y > most.y ? 1u << e : 0;
                most = max(most, tops[e]);
            }
            height_t left = before.x;
            for (uint bits = highs; bits; bits &= bits - 1) {
                const uint e = 31 - clz(bits & -bits);
                high |= (ulong)item_records(points, first + e * RUN, begin, end, 1, left, after.x) << (e * RUN);
                left = max(left, runs[PLACE(lid * rows + e)].x);
            }
            left = before.y;
            for (uint bits = lows; bits; bits &= bits - 1) {
                const uint e = 31 - clz(bits & -bits);
                low |= (ulong)item_records(points, first + e * RUN, begin, end, 0, left, after.y) << (e * RUN);
                left = max(left, runs[PLACE(lid * rows + e)].y);
            }
        }

        uint counts;
        const uint at = group_before((uint)popcount(low) | (uint)popcount(high) << 16, lid, values, sums, &counts);
        uint to_low = low_size + (at & 0xffff), to_high = high_size + (at >> 16);
        for (; low; low &= low - 1)
            low_list[to_low++] = first + 63 - (uint)clz(low & -low);
        for (; high; high &= high - 1)
            high_list[to_high++] = first + 63 - (uint)clz(high & -high);
        low_size += counts & 0xffff;
        high_size += counts >> 16;
    }
% if check:
    if (bad${"" if real == "int" else " || wild != 0"})
        atomic_or(flag, 1u);
% endif
    for (uint side = lid; side < 2; side += WG_SIZE) {
        const uint size = side ? high_size : low_size;
        vstore2(end > begin ? (uint2)(begin, begin + size - 1) : (uint2)(1, 0), (size_t)side * blocks + block, ranges);
    }
}
% endif
