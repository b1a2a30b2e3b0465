<%page args="real='float', filtered=True, check=False, variant='serial', wg_size=1, items_per_thread=8"/>\
<% lanes = 4 if real == "double" else 8 %>\
// arc_hulls_blocks: the upper and the lower hull of every block of many candidates, read once; a work-item to a block.
//
//   candidates | block 0: tile | tile | ..      | block 1 ..         ascending x, lexicographic order where x are equal
//   tile       | strip | strip | ..                                  ${max(items_per_thread, 1)} strips of 32 candidates
//   records    higher (lower) than all of the block before them, or than all of the tile after: nothing else can be a
//              corner, for it is on or below the line from one point to another
//   corners    [ c0 c1 c2 ..                    | c0 ..              see arc/arc_segments.h
//
// Of n candidates in random order about 2 ln n are records of each side. Only the extremes of a strip's heights are kept,
// and strips with records are read again.
% if check:
// flag is set if candidates are not in lexicographic order, or not finite.
% endif
// Reads every candidate once, with one comparison each way, and O(log n) again of random ones.
#define CHECK ${int(check)}
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP_COLLINEAR 0
#include "hood/hood.h"
#include "arc/arc_turn.h"
#define WG_SIZE ${wg_size}
#define POINT(points, id) CLGEOM_LOAD2(${real}, points, id)
#include "arc/arc_order.h"
#define ARC_LOAD(id) POINT(points, id)
#define ARC_STACK(k) stack[k]
#include "arc/arc_chain.h"
#define STRIP 32
#define STRIPS ${max(items_per_thread, 1)}         // in a tile
#define TILE (STRIPS * STRIP)
typedef ${real}${lanes} lanes_t;

// The highest and the lowest of a strip, of STRIP candidates or fewer.
inline void strip_extremes(global const real_t *strip, uint count, real_t *top, real_t *bottom)
{
    real_t t = strip[1], b = t;
    if (count == STRIP) {
        lanes_t tops = vload${lanes}(0, strip), bottoms = tops;
        for (uint k = 1; k < 2 * STRIP / ${lanes}; ++k) {
            const lanes_t v = vload${lanes}(k, strip);
            tops = v > tops ? v : tops;
            bottoms = v < bottoms ? v : bottoms;
        }
        t = tops.s1;
        b = bottoms.s1;
% for lane in range(3, lanes, 2):
        t = tops.s${lane} > t ? tops.s${lane} : t;
        b = bottoms.s${lane} < b ? bottoms.s${lane} : b;
% endfor
    } else
        for (uint k = 0; k < count; ++k) {
            const real_t y = strip[2 * k + 1];
            t = y > t ? y : t;
            b = y < b ? y : b;
        }
    *top = t;
    *bottom = b;
}
#if CHECK

// Whether a strip from candidate `first` on has points that are not finite, or not in order after the one before.
inline uint strip_is_broken(global const real_t *points, uint first, uint count)
{
    global const real_t *strip = points + 2 * (size_t)first;
    uint broken = !arc_is_finite(POINT(points, first)) |
                  (first > 0 && !arc_in_order(POINT(points, first - 1), POINT(points, first)));
    if (count == STRIP)
        for (uint k = 1; k < STRIP; ++k) {        // no branches, and a constant length: it is vectorised
            const real_t ax = strip[2 * k - 2], ay = strip[2 * k - 1], bx = strip[2 * k], by = strip[2 * k + 1];
            broken |= !((ax < bx) | ((ax == bx) & (ay <= by)))${"" if real == "int" else " | !(bx - bx == 0) | !(by - by == 0)"};
        }
    else
        for (uint k = 1; k < count; ++k)
            broken |= !arc_is_finite(POINT(strip, k)) || !arc_in_order(POINT(strip, k - 1), POINT(strip, k));
    return broken;
}
#endif

// Appends the records of a tile, from `first` on, to the chain: those of ends[s], the highest (lowest) of strip s, that are
// beyond all before or all after. `side` is a constant in every call.
inline void push_records(global const real_t *points, uint first, uint last, const real_t *ends, global uint *stack,
                         chain_t *chain, uint side)
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
        uint falling = 0;                  // bits of strips that are beyond all after them
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
            if (rising || falling >> k & 1) {
                const point_t p = POINT(points, begin + k);
                ARC_PUSH_OF_COLUMN(*chain, begin + k, p, side);
            }
        }
        best = BEYOND(ends[s], best) ? ends[s] : best;
    }
#undef BEYOND
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_hulls_blocks(global const real_t *points, const uint m, global const uint *cuts, const uint blocks,
                      global uint *corners, global uint *ranges, global uint *flag)
{
    const uint block = get_group_id(0), begin = cuts[block], end = cuts[block + 1];
    chain_t low = {0, 0, 0}, high = {0, 0, 0};
    uint broken = begin > end;
    for (uint tile = begin; tile < end; tile += TILE) {
        const uint last = min(tile + TILE, end);
        real_t tops[STRIPS], bottoms[STRIPS];
        for (uint s = 0; s * STRIP < last - tile; ++s) {
            const uint first = tile + s * STRIP, count = min((uint)STRIP, last - first);
            strip_extremes(points + 2 * (size_t)first, count, tops + s, bottoms + s);
#if CHECK
            broken |= strip_is_broken(points, first, count);
#endif
        }
        push_records(points, tile, last, bottoms, corners + begin, &low, 0);
        push_records(points, tile, last, tops, corners + (size_t)m + begin, &high, 1);
    }
#if CHECK
    if (broken)
        atomic_or(flag, 1u);
#endif
    vstore2(end > begin ? (uint2)(begin, begin + low.size - 1) : (uint2)(1, 0), block, ranges);
    vstore2(end > begin ? (uint2)(begin, begin + high.size - 1) : (uint2)(1, 0), (size_t)blocks + block, ranges);
}
