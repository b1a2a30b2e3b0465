<%page args="real='float', filtered=True, keep_collinear=False, variant='group', wg_size=64, items_per_thread=8"/>\
// hood_match_blocks: one hood of every block of sorted points, merged as published from single points in local memory.
//
//   points  | block 0: ${wg_size * items_per_thread} points   | block 1          | ..    a work-group to a block
//   stage   d = 1, 2, 4 .. half a block: pairs of hoods of at most d corners; d samples to a pair. group: work-items
//           stride over the samples of all pairs; serial: one work-item takes a pair after the other
//   hood    | corners, left-justified .. | ..                                     numbers of points
//   sizes   [ of block 0 | of block 1 | ..
//
// Six phases to a stage, a barrier after each. Reads every point once, writes the corners; O(block log block) tests.
// Source: O Dunlaing, "CUDA implementation of Wagener's 2D convex hull PRAM algorithm" (2012), match_and_merge.
#define CLGEOM_SERIAL ${int(variant == "serial")}
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP_COLLINEAR ${int(keep_collinear)}
#include "hood/hood.h"
#define HOOD_SPACE local
typedef ushort slot_t;
typedef local const real_t *HOOD_POINTS;
#define HOOD_POINT(h, k) (point_t)((h)->points[2 * (k)], (h)->points[2 * (k) + 1])
#include "hood/hood_match.h"
#define WG_SIZE ${wg_size}
#define BLOCK (WG_SIZE * ${items_per_thread})      // a power of two, at most 65536
#define HALF (BLOCK > 1 ? BLOCK / 2 : 1)

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void hood_match_blocks(global const real_t *points, const uint n, const uint side, global uint *hood, global uint *sizes)
{
    local real_t local_points[2 * BLOCK];
    local slot_t local_hood[2 * BLOCK];            // of this stage and of the next, in turn
    local slot_t local_size[BLOCK];                // of the hood that begins here
    local slot_t bracket[HALF], touch[HALF], low[HALF], found[3 * HALF];
    const uint lid = get_local_id(0), begin = get_group_id(0) * BLOCK, count = min((uint)BLOCK, n - begin);
    for (uint k = lid; k < BLOCK; k += WG_SIZE) {
        if (k < count) {
            const point_t p = CLGEOM_POINT(points, begin + k);
            local_points[2 * k] = p.x;
            local_points[2 * k + 1] = p.y;
        }
        local_hood[k] = k;
        local_size[k] = k < count;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    uint log_d = 0;
    for (; (1u << log_d) < BLOCK && (1u << log_d) < n; ++log_d) {          // the same for all
        const uint d = 1u << log_d;
        local slot_t *now = local_hood + (log_d & 1) * BLOCK, *next = local_hood + (~log_d & 1) * BLOCK;
#define PAIR(pair, number)                                                                                  \
    pair_t pair = {local_points, now + 2 * d * (number), now + 2 * d * (number) + d,                        \
                   local_size[2 * d * (number)], local_size[2 * d * (number) + d], side, (log_d + 1) / 2,   \
                   log_d / 2, bracket + d * (number), touch + d * (number), low + d * (number),             \
                   found + 3 * (number)};                                                                   \
    item_skip_equal(&pair);
#if CLGEOM_SERIAL
        for (uint k = 0; k < BLOCK / 2 >> log_d; ++k) {
            PAIR(pair, k)
            for (uint phase = 1; phase <= 5; ++phase) {
                const uint samples = item_samples(&pair, phase);
                for (uint t = 0; t < samples; ++t)
                    item_match(&pair, phase, t);
            }
            const uint size = item_size(&pair);
            for (uint at = 0; at < size; ++at)
                next[2 * d * k + at] = item_merged(&pair, at);
            local_size[2 * d * k] = size;
        }
#else
        for (uint phase = 1; phase <= 5; ++phase) {
            for (uint t = lid; t < BLOCK / 2; t += WG_SIZE) {
                PAIR(pair, t >> log_d)
                if ((t & (d - 1)) < item_samples(&pair, phase))
                    item_match(&pair, phase, t & (d - 1));
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        for (uint k = lid; k < BLOCK; k += WG_SIZE) {
            PAIR(pair, k >> (log_d + 1))
            const uint at = k & (2 * d - 1);
            if (at < item_size(&pair))
                next[k] = item_merged(&pair, at);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        // A size is replaced when no work-item will read the old one, or the corners that it counts.
        for (uint k = lid; k < BLOCK / 2 >> log_d; k += WG_SIZE) {
            PAIR(pair, k)
            local_size[2 * d * k] = item_size(&pair);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
    }
    const uint size = local_size[0];
    for (uint k = lid; k < size; k += WG_SIZE)
        hood[begin + k] = begin + local_hood[(log_d & 1) * BLOCK + k];
    if (lid == 0)
        sizes[get_group_id(0)] = size;
}
