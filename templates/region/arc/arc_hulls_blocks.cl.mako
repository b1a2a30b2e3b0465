<%page args="real='float', filtered=True, check=False, variant='group', wg_size=64, items_per_thread=8"/>\
<%
    height = "long" if real == "int" else real
    lowest = "LONG_MIN" if real == "int" else "-INFINITY"
    run = min(items_per_thread, 8)
%>\
// arc_hulls_blocks: the few candidates of every block that may be corners, in one pass; a work-group to a block.
//
//   candidates | block 0: tile | tile | ..      | block 1 ..         ascending x, lexicographic order where x are equal
//   tile       | row: run | run | ..       | row: run ..             ${run} candidates to a run, a run to a work-item
//   records    higher (lower) than all of the block before them, or than all of the tile after: nothing else can be a
//              corner, for it is on or below the line from one point to another
//   corners    [ c0 c1 c2 ..                    | c0 ..              see arc/arc_segments.h
//
// Of n candidates in random order about 2 ln n are records of each side. Only the extremes of a run are kept, in local
// memory; few runs have records, and these are read again. arc_corners continues with the records: orientation tests need
// so many registers that occupancy would be too low to read at full speed.
% if check:
// flag is set if candidates are not in lexicographic order, or not finite.
% endif
// Reads every candidate once, with one comparison each way, and O(log n) again of random ones.
#define CHECK ${int(check)}
#define INTEGERS ${int(real == "int")}
#define REAL ${real}
#include "geometry/points.h"
#define WG_SIZE ${wg_size}
#define POINT(points, id) CLGEOM_LOAD2(${real}, points, id)
#include "arc/arc_order.h"
#include "arc/arc_before.h"
#define RUN ${run}                              // even; candidates side by side that a work-item takes of each row
#define ROWS ${items_per_thread // run}                             // ROWS * RUN is at most 64
#define ROW (WG_SIZE * RUN)
#define TILE (ROW * ROWS)
#define INDEX(run) ((run) + (run) / 8)     // work-items that read runs 8 apart are on different banks

typedef ${height} height_t;                // wider than a coordinate, or with infinities
typedef ${height}2 heights_t;              // above the x axis, below it
#define LOWEST ((height_t)${lowest})
#define NOTHING ((heights_t)(LOWEST, LOWEST))
#define HEIGHTS(y) (heights_t)((height_t)(y), -(height_t)(y))
#include "arc/arc_beside.h"

// Faults of a block's candidates.
typedef struct {
    uint disorder;
    real_t nonfinite;                      // NaN after an infinity or a NaN; x need no test if they are in order
} fault_t;

// The greatest heights of every run of a tile. Rows of runs, one run to a work-item, are read at full speed: neighbours
// read neighbouring sectors.
inline void load_runs(global const real_t *points, uint begin, uint end, uint tile, uint rows, uint lid,
                      local heights_t *runs, fault_t *fault)
{
    for (uint row = 0; row < rows; ++row) {
        const uint run = row * WG_SIZE + lid, first = tile + run * RUN;
        heights_t own = NOTHING;
        if (first >= begin && first + RUN <= end) {
            ${real}4 two[RUN / 2];
#pragma unroll
            for (uint k = 0; k < RUN / 2; ++k)
                two[k] = CLGEOM_LOAD4(${real}, points, first / 2 + k);
#if CHECK
            point_t previous = POINT(points, max(first, 1u) - 1);
#endif
#pragma unroll
            for (uint k = 0; k < RUN / 2; ++k) {
                own = max(own, max(HEIGHTS(two[k].y), HEIGHTS(two[k].w)));
#if CHECK
                fault->disorder |= !arc_in_order(previous, two[k].xy) | !arc_in_order(two[k].xy, two[k].zw);
                previous = two[k].zw;
#if !INTEGERS
                fault->nonfinite = fma(two[k].y, (real_t)0, fma(two[k].w, (real_t)0, fault->nonfinite));
#endif
#endif
            }
        } else
            for (uint i = max(first, begin); i < min(first + RUN, end); ++i) {
                const point_t p = POINT(points, i);
                own = max(own, HEIGHTS(p.y));
#if CHECK
                fault->disorder |= !arc_is_finite(p) || !arc_in_order(POINT(points, max(i, 1u) - 1), p);
#endif
            }
        runs[INDEX(run)] = own;
    }
}

// Bits of a run's candidates that are higher than all before them, or than all after.
inline uint run_records(global const real_t *points, uint first, uint begin, uint end, uint side, height_t before,
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

// Bits of a work-item's candidates, ROWS runs from `first` on, that are records of a side. `tops` are the heights of its
// runs, the same as runs[INDEX(first_run + e)], because registers cannot be indexed at run time.
inline ulong item_records(global const real_t *points, uint first, uint begin, uint end, uint side,
                          const heights_t *tops, local const heights_t *runs, uint first_run, heights_t before_both,
                          heights_t after_both)
{
#define OF_SIDE(heights) (side ? (heights).x : (heights).y)
    const height_t after = OF_SIDE(after_both);
    height_t before = OF_SIDE(before_both), most = before;
    uint some = 0;                                         // runs with records
#pragma unroll
    for (uint e = 0; e < ROWS; ++e) {
        some |= OF_SIDE(tops[e]) > most ? 1u << e : 0;
        most = max(most, OF_SIDE(tops[e]));
    }
    most = after;
#pragma unroll
    for (uint e = ROWS; e-- > 0;) {
        some |= OF_SIDE(tops[e]) > most ? 1u << e : 0;
        most = max(most, OF_SIDE(tops[e]));
    }
    ulong records = 0;
    for (; some; some &= some - 1) {
        const uint e = 31 - clz(some & -some);
        records |= (ulong)run_records(points, first + e * RUN, begin, end, side, before, after) << (e * RUN);
        before = max(before, OF_SIDE(runs[INDEX(first_run + e)]));
    }
    return records;
#undef OF_SIDE
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_hulls_blocks(global const real_t *points, const uint m, global const uint *cuts, const uint blocks,
                      global uint *corners, global uint *ranges, global uint *flag)
{
    local heights_t runs[INDEX(WG_SIZE * ROWS) + 1];
    local heights_t items[CHUNKED_ROOM], lefts[CHUNKED_ROOM], chunks[ARC_CHUNKS];
    local uint values[2 * WG_SIZE];
    const uint lid = get_local_id(0), block = get_group_id(0), begin = cuts[block], end = cuts[block + 1];
    global uint *low_list = corners + begin, *high_list = corners + (size_t)m + begin;
    uint low_size = 0, high_size = 0;
    heights_t passed = NOTHING;                            // the greatest heights of all tiles before
    fault_t fault = {begin > end, 0};
#if CHECK
    if (lid == 0 && begin < end)
        fault.disorder = !(arc_is_finite(POINT(points, begin)) && arc_is_finite(POINT(points, end - 1)));
#endif
    for (uint tile = begin & ~(RUN - 1u); tile < end; tile += TILE) {
        const uint rows = min((uint)ROWS, (end - tile + ROW - 1) / ROW);
        load_runs(points, begin, end, tile, rows, lid, runs, &fault);
        barrier(CLK_LOCAL_MEM_FENCE);

        heights_t tops[ROWS], own = NOTHING, before, after;      // a work-item's own runs are now side by side
#pragma unroll
        for (uint e = 0; e < ROWS; ++e) {
            tops[e] = e < rows ? runs[INDEX(lid * rows + e)] : NOTHING;
            own = max(own, tops[e]);
        }
        const heights_t most = group_beside(own, lid, items, lefts, chunks, &before, &after);
        before = max(passed, before);
        passed = max(passed, most);

        const uint first = tile + lid * rows * RUN;
        ulong high = 0, low = 0;
        if (own.x > min(before.x, after.x) || own.y > min(before.y, after.y)) {
            high = item_records(points, first, begin, end, 1, tops, runs, lid * rows, before, after);
            low = item_records(points, first, begin, end, 0, tops, runs, lid * rows, before, after);
        }
        uint counts;
        const uint at = group_before((uint)popcount(low) | (uint)popcount(high) << 16, lid, values, &counts);
        uint to_low = low_size + (at & 0xffff), to_high = high_size + (at >> 16);
        for (; low; low &= low - 1)
            low_list[to_low++] = first + 63 - (uint)clz(low & -low);
        for (; high; high &= high - 1)
            high_list[to_high++] = first + 63 - (uint)clz(high & -high);
        low_size += counts & 0xffff;
        high_size += counts >> 16;
    }
#if CHECK
    if (fault.disorder${"" if real == "int" else " || fault.nonfinite != 0"})
        atomic_or(flag, 1u);
#endif
    for (uint side = lid; side < 2; side += WG_SIZE) {
        const uint size = side ? high_size : low_size;
        vstore2(end > begin ? (uint2)(begin, begin + size - 1) : (uint2)(1, 0), (size_t)side * blocks + block, ranges);
    }
}
