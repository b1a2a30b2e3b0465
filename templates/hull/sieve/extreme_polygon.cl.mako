<%page args="real='float', directions=64, span=64, result='bounds', bins=2048, share=1024, variant='group', wg_size=1024, items_per_thread=1"/>\
// extreme_polygon: the extreme points of all groups' candidates, as a polygon${", and bounds between which points are inside it" if result == "bounds" else ""}.
//
//   candidates  | (reach, row) in direction 0, 1, .. ${directions - 1} of group 0 | of group 1 | ..${"" if result == "bounds" else f" of all {share} points"}
% if result == "bounds":
//   caps        corners and the edges after them, counter-clockwise, and their number
//   bounds      heights between which a point is inside the polygon, for sieve.cl, and their frame
//
// Every work-group finds all corners. The last one writes the caps, the others their share of the bins.
% else:
//   corners     the row of the farthest point in each of *slots directions, counter-clockwise; equal ones are neighbours
//
// A work-group for ${span} directions.
% endif
#define RESULT_BOUNDS ${int(result == "bounds")}
#define RESULT_CORNERS ${int(result == "corners")}
#define INTEGERS ${int(real == "int")}
#define REAL ${real}
#define DIRECTIONS ${directions}
#define WG_SIZE ${wg_size}
#define SPAN ${span}                    // directions of a work-group
#define PARTS ${max(wg_size // span, 1)}
#if RESULT_BOUNDS
#define BINS ${bins}
#include "geometry/sieve.h"
#include "geometry/directions.h"

// One side of the polygon: corner t of the lower one (step 1) or the upper one (step -1), from the leftmost on.
typedef struct { local const float2 *at; int step; } chain_t;

#define CORNER(chain, t) chain->at[(DIRECTIONS / 2 + DIRECTIONS + chain->step * (int)(t)) % DIRECTIONS]

// Its height at x, or `none` beyond its ends. It is on a line between two corners, in any order.
inline float height(const chain_t *chain, float at, float none)
{
    uint lo = 0, hi = DIRECTIONS / 2;
    while (lo + 1 < hi) {
        const uint mid = (lo + hi) / 2;
        if (CORNER(chain, mid).x <= at)
            lo = mid;
        else
            hi = mid;
    }
    return line_height(CORNER(chain, lo), CORNER(chain, hi), at, none);
}
#endif

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
#if RESULT_BOUNDS
void extreme_polygon(global const real_t *points, global const uint2 *candidates, const uint groups,
                     global const affine_t *map_found, global cap_t *caps, global uint *corners, global frame_t *frame,
                     global float2 *bounds)
#else
void extreme_polygon(global const uint2 *candidates, const uint most, global const uint *sizes, const uint in,
                     const uint capacity, global const uint *slots, global uint *corners)
#endif
{
    local uint2 found[PARTS * SPAN];
    const uint lid = get_local_id(0), part = PARTS > 1 ? lid / SPAN : 0;
#if RESULT_BOUNDS
    const uint first = 0, known = SPAN;
    const affine_t map = *map_found;
#else
    const uint first = get_group_id(0) * SPAN, total = sizes[in] > capacity ? 0 : sizes[in];
    const uint groups = clamp((total + ${share - 1}) / ${share}, 1u, most);
    const uint known = *slots > first ? min(*slots - first, (uint)SPAN) : 0;      // of the directions here
#endif
    for (uint k = PARTS > 1 ? lid % SPAN : lid; k < SPAN; k += WG_SIZE) {
        uint2 best = (uint2)(0, 0);
#pragma unroll 8
        for (uint group = part; group < groups && k < known; group += PARTS) {
            const uint2 other = candidates[group * DIRECTIONS + first + k];
            best = other.x > best.x ? other : best;
        }
        found[part * SPAN + k] = best;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#if RESULT_BOUNDS
    local real_t x[DIRECTIONS], y[DIRECTIONS];
    local uint rows[DIRECTIONS], chosen[DIRECTIONS], is_new[DIRECTIONS], different;
    local float2 at[DIRECTIONS];
    local point_t ends[2];
#endif
    for (uint k = lid; k < SPAN; k += WG_SIZE) {
        uint2 best = found[k];
#pragma unroll
        for (uint p = 1; p < PARTS; ++p) {
            const uint2 other = found[p * SPAN + k];
            best = other.x > best.x ? other : best;
        }
#if RESULT_CORNERS
        if (k < known)
            corners[first + k] = best.y;
#else
        rows[k] = best.y;
        const point_t p = CLGEOM_POINT(points, (size_t)best.y);
        x[k] = p.x;
        y[k] = p.y;
#endif
    }
#if RESULT_BOUNDS
    barrier(CLK_LOCAL_MEM_FENCE);

    if (get_group_id(0) == get_num_groups(0) - 1) {
        // Corners that differ from the one before and from the first.
        for (uint k = lid; k < DIRECTIONS; k += WG_SIZE)
            is_new[k] = k == 0 || ((x[k] != x[k - 1] || y[k] != y[k - 1]) && (x[k] != x[0] || y[k] != y[0]));
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = lid; k < DIRECTIONS; k += WG_SIZE) {
            uint index = 0;
#pragma unroll 8
            for (uint i = 0; i < k; ++i)
                index += is_new[i];
            if (is_new[k])
                chosen[index] = k;
            if (k == DIRECTIONS - 1)
                different = index + is_new[k];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = lid; k < different; k += WG_SIZE) {
            const uint from = chosen[k], to = chosen[k + 1 < different ? k + 1 : 0];
            const float2 edge = way(map, x[from], y[from], x[to], y[to]);
            const float length = sqrt(edge.x * edge.x + edge.y * edge.y), scale = length > 0 ? 1 / length : 0;
            const cap_t cap = {x[from], y[from], edge.y * scale, -edge.x * scale, length, rows[from]};
            caps[k] = cap;
        }
        if (lid == 0)
            *corners = different;
        return;
    }

    // The frame: bins from the leftmost corner to the rightmost, heights from the lowest to the highest. They are found by
    // comparisons, because a corner is the farthest in its direction only up to rounding.
    if (lid == 0) {
        point_t least = (point_t)(x[0], y[0]), most = least;
#pragma unroll 8
        for (uint k = 1; k < DIRECTIONS; ++k) {
            least.x = x[k] < least.x ? x[k] : least.x;
            least.y = y[k] < least.y ? y[k] : least.y;
            most.x = x[k] > most.x ? x[k] : most.x;
            most.y = y[k] > most.y ? y[k] : most.y;
        }
        ends[0] = least;
        ends[1] = most;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const real_t left = ends[0].x, right = ends[1].x, low = ends[0].y, high = ends[1].y;
#if INTEGERS
    const scale_t width = (long)right - (long)left, rise = (long)high - (long)low;
#else
    const scale_t width = right - left, rise = high - low;
#endif
    const int usable = LEAST < width && width < MOST && LEAST < rise && rise < MOST;
    const frame_t measured = {left, low, usable ? BINS / width : 0, usable ? 1 / rise : 0};
    for (uint k = lid; k < DIRECTIONS; k += WG_SIZE)
        at[k] = (float2)(scaled(x[k], left, measured.across), scaled(y[k], low, measured.up));
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint makers = get_num_groups(0) - 1;           // groups that write bounds
    const chain_t lower = {at, 1}, upper = {at, -1};
    for (uint bin = get_group_id(0) + makers * lid; bin < BINS; bin += makers * WG_SIZE) {
        float2 bound = (float2)(NOTHING, -NOTHING);
        if (usable) {
            const float a = bin - PAD, b = bin + 1 + PAD;
            bound = bin_bounds(bin, height(&lower, a, NOTHING), height(&lower, b, NOTHING),
                               height(&upper, a, -NOTHING), height(&upper, b, -NOTHING));
        }
        bounds[bin] = bound;
    }
    if (get_global_id(0) == 0)
        *frame = measured;
#endif
}
