<%page args="real='float', directions=64, variant='group', wg_size=256, items_per_thread=4, sizes=8"/>\
// sample_extremes: for every group of a sample, its extreme point in each of ${directions} directions.
//
//   sample      every stride-th point                      | group 0   | group 1   | ..     ${wg_size * items_per_thread} to a group
//   map         the affine map of geometry/directions.h, by the moments of ${wg_size} points, the same in all groups
//   candidates  | (reach, row) in direction 0, 1, .. of group 0 | of group 1 | ..
//
// The lengths of lists begin at 0: sizes[0] to sizes[${sizes - 1}].
// A work-item has a direction and its opposite, and visits all points of its part of the group's share.
#define REAL ${real}
#include "geometry/directions.h"
#define DIRECTIONS ${directions}
#define WG_SIZE ${wg_size}
#include "group/reduce.h"
#define ITEMS ${items_per_thread}
#define CHUNK (WG_SIZE * ITEMS)
<%
    axes = directions // 2
    parts = max(wg_size // axes, 1)
    share = wg_size * items_per_thread // parts
%>\
#define AXES ${axes}                           // a direction and its opposite
#define PARTS ${parts}
#define SHARE ${share}
#define RUN ${min(8, share & -share)}
#define ROW(at) (begin + (at) < samples ? (begin + (at)) * (uint)stride : 0)
#define LEAST 1e-12f                         // variance in place of 0

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void sample_extremes(global const real_t *points, const ulong stride, const uint samples, global uint *sizes,
                     global affine_t *map_found, global uint2 *candidates)
{
    local float4 spread[WG_SIZE];            // one more product; its x is reused for WG_SIZE others
    local float products[WG_SIZE];
    local float2 at[CHUNK];
    local uint2 found[PARTS * DIRECTIONS];
    const uint lid = get_local_id(0), begin = get_group_id(0) * CHUNK;

    // All loads are issued together, because they are far apart.
    const point_t origin = CLGEOM_POINT(points, 0);
    const point_t some = CLGEOM_POINT(points, (size_t)samples * lid / WG_SIZE * stride);
    point_t sample[ITEMS];
#pragma unroll
    for (uint k = 0; k < ITEMS; ++k) {
        const uint i = begin + k * WG_SIZE + lid;
        sample[k] = CLGEOM_POINT(points, i < samples ? i * stride : 0);
    }

    // Offsets from the first point, in units of the greatest; then their means and variances.
    affine_t map;
    map.x = origin.x;
    map.y = origin.y;
    const float dx = OFFSET(origin.x, some.x), dy = OFFSET(origin.y, some.y);
    spread[lid] = (float4)(fabs(dx), fabs(dy), 0, 0);
    GROUP_REDUCE(lid, other, spread[lid] = fmax(spread[lid], spread[other]));
    const float widest = spread[0].x, highest = spread[0].y;
    const float across = widest > 1e-30f ? 1 / widest : 0, up = highest > 1e-30f ? 1 / highest : 0;
    const float u = dx * across, v = dy * up;
    barrier(CLK_LOCAL_MEM_FENCE);
    spread[lid] = (float4)(u, v, u * u, v * v);
    products[lid] = u * v;
    GROUP_REDUCE(lid, other, spread[lid] += spread[other]; products[lid] += products[other]);
    const float4 mean = spread[0] / WG_SIZE;
    const float uu = mean.z - mean.x * mean.x, vv = mean.w - mean.y * mean.y, uv = products[0] / WG_SIZE - mean.x * mean.y;
    const float first = sqrt(uu > LEAST ? uu : LEAST), shared = uv / first, rest = vv - shared * shared;
    const float second = sqrt(rest > 1e-6f * vv && rest > LEAST ? rest : vv > LEAST ? 1e-6f * vv : LEAST);
    map.across = across / first;
    map.up = up / second;
    map.slant = shared == shared ? shared / second : 0;

#pragma unroll
    for (uint k = 0; k < ITEMS; ++k)
        at[k * WG_SIZE + lid] = mapped(map, sample[k]);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint part = PARTS > 1 ? lid / AXES : 0;
    for (uint k = PARTS > 1 ? lid % AXES : lid; k < AXES; k += WG_SIZE) {
        const float2 toward = direction(k, DIRECTIONS);
        // The best run of RUN points, then the best point in it: the maximum of a run is a tree, not a chain of comparisons.
        float farthest = -INFINITY, nearest = INFINITY;
        uint far_run = part * SHARE, near_run = part * SHARE;
        for (uint i = part * SHARE; i < (part + 1) * SHARE; i += RUN) {
            float far[RUN], near[RUN];
#pragma unroll
            for (uint r = 0; r < RUN; ++r)
                far[r] = near[r] = dot(at[i + r], toward);
#pragma unroll
            for (uint apart = RUN / 2; apart > 0; apart /= 2)
                for (uint r = 0; r < apart; ++r) {
                    far[r] = fmax(far[r], far[r + apart]);
                    near[r] = fmin(near[r], near[r + apart]);
                }
            far_run = far[0] > farthest ? i : far_run;
            near_run = near[0] < nearest ? i : near_run;
            farthest = fmax(farthest, far[0]);
            nearest = fmin(nearest, near[0]);
        }
        uint far_at = far_run, near_at = near_run;
        for (uint r = 1; r < RUN; ++r) {
            far_at = dot(at[far_run + r], toward) == farthest ? far_run + r : far_at;
            near_at = dot(at[near_run + r], toward) == nearest ? near_run + r : near_at;
        }
        found[part * DIRECTIONS + k] = (uint2)(ordered(farthest), ROW(far_at));
        found[part * DIRECTIONS + AXES + k] = (uint2)(ordered(-nearest), ROW(near_at));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = lid; k < DIRECTIONS; k += WG_SIZE) {
        uint2 best = found[k];
        for (uint p = 1; p < PARTS; ++p) {
            const uint2 other = found[p * DIRECTIONS + k];
            best = other.x > best.x ? other : best;
        }
        candidates[get_group_id(0) * DIRECTIONS + k] = best;
    }
    if (get_global_id(0) == 0) {
        *map_found = map;
        for (uint slot = 0; slot < ${sizes}; ++slot)
            sizes[slot] = 0;
    }
}
