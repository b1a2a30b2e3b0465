<%page args="real='float', filtered=True, check=False, run=8, variant='group', wg_size=64, items_per_thread=8"/>\
<%
    height = "long" if real == "int" else real
    lowest, highest = ("LONG_MIN", "LONG_MAX") if real == "int" else ("-INFINITY", "INFINITY")
    lanes = 4 if real == "double" else 8
%>\
% if variant == "serial":
// arc_hulls_blocks: the upper and the lower hull of every block of many candidates, read once; a work-item to a block.
% else:
// arc_hulls_blocks: the few of every block of many candidates that may be corners of its hulls; a work-group to a block.
% endif
//
//   candidates | block 0: tile | tile | ..      | block 1 ..         ascending x, lexicographic order where x are equal
% if variant == "serial":
//   tile       | strip | strip | ..                                  32 candidates to a strip
% else:
//   tile       | run | run | ..                                      ${run} candidates to a run, ${items_per_thread} runs to a work-item
% endif
//   records    higher (lower) than all of the block before them, or than all of the tile after: nothing else can be a
//              corner, for it is on or below the line from one point to another
//   corners    [ c0 c1 c2 ..                    | c0 ..              see arc_segments.h
//
// Of n candidates in no particular order about 2 ln n are left to each side.
% if variant == "serial":
// A work-item takes a block; of a strip's heights it keeps the extremes, and looks again where they are records.
% else:
// Of a run arc_extremes has left the extremes; few runs have records, and these are read again. arc_corners goes on.
% endif
% if check and variant == "serial":
// flag is set if candidates are not in lexicographic order, or not finite.
% endif
% if variant == "serial":
// Reads every candidate once, with one comparison each way, and O(log n) again of random ones.
% else:
// Reads all extremes, and O(log n) candidates of random ones.
% endif
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
#define RUN ${run}
#define RUNS ${items_per_thread}           // of a tile that a work-item takes; RUNS * RUN is at most 64
#define TILE (WG_SIZE * RUNS * RUN)
#include "arc_before.h"

typedef ${height} height_t;                // wider than a coordinate, or with infinities
typedef ${height}2 heights_t;              // above the x axis, below it
#define LOWEST ((height_t)${lowest})
#define HEIGHTS(top, bottom) (heights_t)((height_t)(top), -(height_t)(bottom))

// The greatest heights of a run's candidates in the block.
inline heights_t item_tops(global const real_t *points, global const real_t *extremes, uint run, uint begin, uint end)
{
    if (run * RUN >= begin && (run + 1) * RUN <= end) {
        const point_t extreme = POINT(extremes, run);
        return HEIGHTS(extreme.x, extreme.y);
    }
    heights_t tops = (heights_t)(LOWEST, LOWEST);
    for (uint i = max(run * RUN, begin); i < min((run + 1) * RUN, end); ++i)
        tops = max(tops, HEIGHTS(points[2 * (size_t)i + 1], points[2 * (size_t)i + 1]));
    return tops;
}

// Bits of the candidates of `count` runs, from number `run` on, that are higher than all before them, or than all after.
// `before` and `after` are the greatest heights of all other runs. Few runs have such candidates; these are read.
inline ulong item_records(global const real_t *points, global const real_t *extremes, uint run, uint count, uint begin,
                          uint end, uint side, height_t before, height_t after)
{
    ulong bits = 0;
<%
    ways = {"before": ("uint e = 0; e < count; ++e", "uint k = 0; k < RUN; ++k"),
            "after": ("uint e = count; e-- > 0;", "uint k = RUN; k-- > 0;")}
%>\
% for way, (es, ks) in ways.items():
    for (${es}) {
        const heights_t tops = item_tops(points, extremes, run + e, begin, end);
        if ((side ? tops.x : tops.y) <= ${way})
            continue;
        height_t heights[RUN];
#pragma unroll
        for (uint k = 0; k < RUN; ++k) {                   // all loads before the first comparison
            const height_t y = points[2 * (size_t)min((run + e) * RUN + k, end - 1) + 1];
            heights[k] = side ? y : -y;
        }
#pragma unroll
        for (${ks}) {
            const uint i = (run + e) * RUN + k;
            if (i >= begin && i < end && heights[k] > ${way}) {
                bits |= 1UL << (e * RUN + k);
                ${way} = heights[k];
            }
        }
    }
% endfor
    return bits;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_hulls_blocks(global const real_t *points, const uint m, global const uint *cuts, const uint blocks,
                      global const real_t *extremes, global uint *corners, global uint *ranges)
{
    local heights_t items[WG_SIZE], chunks[ARC_CHUNKS];
    local uint values[WG_SIZE], sums[ARC_CHUNKS];
    const uint lid = get_local_id(0), block = get_group_id(0), begin = cuts[block], end = cuts[block + 1];
    global uint *low_list = corners + begin, *high_list = corners + (size_t)m + begin;
    uint low_size = 0, high_size = 0;
    heights_t passed = (heights_t)(LOWEST, LOWEST);        // the greatest heights of all tiles before
    for (uint tile = begin / RUN * RUN; tile < end; tile += TILE) {
        // The greatest heights of all runs before a work-item's own, and of all after.
        const uint left = (end - tile + RUN - 1) / RUN, share = min((uint)RUNS, (left + WG_SIZE - 1) / WG_SIZE);
        const uint run = tile / RUN + lid * share, count = lid * share < left ? min(share, left - lid * share) : 0;
        heights_t own = (heights_t)(LOWEST, LOWEST);
        for (uint e = 0; e < count; ++e)
            own = max(own, item_tops(points, extremes, run + e, begin, end));
        items[lid] = own;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint c = lid; c < ARC_CHUNKS; c += WG_SIZE) {
            heights_t all = (heights_t)(LOWEST, LOWEST);
            for (uint k = c * ARC_CHUNK; k < min((c + 1) * ARC_CHUNK, (uint)WG_SIZE); ++k)
                all = max(all, items[k]);
            chunks[c] = all;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        heights_t before = passed, after = (heights_t)(LOWEST, LOWEST);
        const uint mine = lid / ARC_CHUNK;
        for (uint c = 0; c < ARC_CHUNKS; ++c) {
            const heights_t chunk = chunks[c];
            passed = max(passed, chunk);
            if (c < mine)
                before = max(before, chunk);
            if (c > mine)
                after = max(after, chunk);
        }
        for (uint k = mine * ARC_CHUNK; k < min((mine + 1) * ARC_CHUNK, (uint)WG_SIZE); ++k) {
            if (k < lid)
                before = max(before, items[k]);
            if (k > lid)
                after = max(after, items[k]);
        }
        ulong high = 0, low = 0;
        if (own.x > min(before.x, after.x))
            high = item_records(points, extremes, run, count, begin, end, 1, before.x, after.x);
        if (own.y > min(before.y, after.y))
            low = item_records(points, extremes, run, count, begin, end, 0, before.y, after.y);

        uint counts;
        const uint at = group_before((uint)popcount(low) | (uint)popcount(high) << 16, lid, values, sums, &counts);
        uint to_low = low_size + (at & 0xffff), to_high = high_size + (at >> 16);
        for (; low; low &= low - 1)
            low_list[to_low++] = run * RUN + 63 - (uint)clz(low & -low);
        for (; high; high &= high - 1)
            high_list[to_high++] = run * RUN + 63 - (uint)clz(high & -high);
        low_size += counts & 0xffff;
        high_size += counts >> 16;
    }
    if (lid < 2) {
        const uint size = lid ? high_size : low_size;
        vstore2(end > begin ? (uint2)(begin, begin + size - 1) : (uint2)(1, 0), (size_t)lid * blocks + block, ranges);
    }
}
% endif
