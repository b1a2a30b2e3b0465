<%page args="real='float', filtered=True, check=False, sieve=False, variant='group', wg_size=64, items_per_thread=1"/>\
// arc_hulls: the upper and the lower hull of every segment, in global memory; a work-item to a segment and side.
//
//   candidates | segment 0      | segment 1 | ..            ascending x; see arc/arc_segments.h
//   corners    [ c0 c1 c2       | c0 c1     | ..            Andrew's monotone chain, with its stack in place
//   ranges     [ (first, last)  | ..                        indices in corners of the side
//
// group: the naive kernel as published. serial: a work-item processes a share of the segments${", with the sieve of hood/hood_strip.h" if sieve else ""}.
% if check:
// flag is set if candidates are not in lexicographic order, or not finite.
% endif
// Reads every candidate once for each side, and corners again when they are popped.
// Source: Andrew, "Another efficient algorithm for convex hulls in two dimensions" (1979).
#define SIEVE ${int(sieve)}
#define CHECK ${int(check)}
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP_COLLINEAR 0
#include "hood/hood.h"
#include "arc/arc_turn.h"
#include "arc/arc_segments.h"
#include "arc/arc_order.h"
#if SIEVE
#include "hood/hood_strip.h"
#else
#define ARC_ID(i) (i)
#define ARC_LOAD(id) CLGEOM_LOAD2(${real}, points, id)
#define ARC_STACK(k) corners[k]
#include "arc/arc_chain.h"
#endif
#if CHECK

// Whether candidates are finite, and in order after the one before.
inline int item_in_order(global const real_t *points, uint first, uint count)
{
    int ordered = 1;
    point_t previous = CLGEOM_LOAD2(${real}, points, max(first, 1u) - 1);
    for (uint k = first; k < first + count; ++k) {
        const point_t p = CLGEOM_LOAD2(${real}, points, k);
        ordered &= arc_is_finite(p) & arc_in_order(previous, p);
        previous = p;
    }
    return ordered;
}
#endif

// The corners of candidates from `first` on; returns their range in `corners`: from .x up to before .y.
inline uint2 item_hull(global const real_t *points, uint first, uint count, uint side, global uint *corners)
{
#if SIEVE
#define X(k) points[2 * (size_t)corners[k]]
    uint size = item_strip(points, first, count, side, corners);
    // a hood goes up its last column, or up its first one
    if (size > 1 && !side && X(size - 2) == X(size - 1))
        --size;
    return (uint2)(size > 1 && side && X(0) == X(1) ? 1 : 0, size);
#else
    uint size;
    ARC_CHAIN(first, count, side, size)
    return (uint2)(0, size);
#endif
}

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void arc_hulls(global const real_t *lower, global const real_t *upper, const uint m, global const uint *cuts,
               const uint segments, global uint *all_corners, global uint *ranges, global uint *flag)
{
    const share_t share = item_share(2 * (ulong)segments, ${int(variant == "serial")});
    for (ulong i = share.begin; i < share.end; i += share.stride) {
        const uint side = i >= segments, s = (uint)(side ? i - segments : i);
        global const real_t *points = side ? upper : lower;
        const uint first = cuts[s], count = max(cuts[s + 1], first) - first;       // even in disorder
#if CHECK
        if (cuts[s] > cuts[s + 1] || (!side && !item_in_order(points, first, count)))
            atomic_or(flag, 1u);
#endif
        const uint2 found = item_hull(points, first, count, side, all_corners + (size_t)side * m + first);
        vstore2(count ? (uint2)(first + found.x, first + found.y - 1) : (uint2)(1, 0), (size_t)side * segments + s, ranges);
    }
}
