<%page args="real='float', key='float', axes=((1, 0), (0, 1), (1, 1), (-1, 1)), tile=2048, variant='group', wg_size=64, items_per_thread=1"/>\
// extremes_final: the extreme points, a direction per group, from all groups' candidates (second of two launches).
//
//   candidates  [ group 0: dir 0 .. | group 1: dir 0 .. | .. ]      from extremes_partial
//   group d     the best of every DIRECTIONS-th candidate from the d-th on, then the first point of its tile that has
//               its key
//   out         [ dir 0 .. dir ${2 * len(axes) - 1} ], then the poison: a last entry with index 1 if any group saw a NaN
//               or infinity
//
// Reads the candidates and a tile of points per direction.
#define REAL ${real}
#include "geometry/points.h"
typedef ${key} key_t;
#include "geometry/extreme.h"
#define WG_SIZE ${wg_size}
#include "group/reduce.h"
#define TILE ${tile}
#define DIRECTIONS ${2 * len(axes)}

inline key_t key_of(uint direction, key_t x, key_t y)
{
% for k, (a, b) in enumerate(axes):
    if (direction / 2 == ${k})
        return ${"y + x" if a > 0 and b else "y - x" if a and b else "x" if a else "y"};
% endfor
    return 0;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void extremes_final(global const real_t *points, const ulong n, global const candidate_t *candidates,
                    global const uint *poison, const uint groups, global extreme_t *out)
{
    local candidate_t local_best[WG_SIZE];
    local uint local_poison, local_first;
    const uint lid = get_local_id(0), direction = get_group_id(0);
    if (lid == 0) {
        local_poison = 0;
        local_first = TILE;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    candidate_t best = candidates[direction];
    for (uint g = lid; g < groups; g += WG_SIZE) {
        const candidate_t other = candidates[(ulong)g * DIRECTIONS + direction];
        if (better(direction, other, best))
            best = other;
        if (poison[g])
            local_poison = 1;
    }
    local_best[lid] = best;
    GROUP_REDUCE(lid, other,
                 if (better(direction, local_best[other], local_best[lid])) local_best[lid] = local_best[other]);
    best = local_best[0];
    const ulong begin = (ulong)best.tile * TILE;
    const uint count = min((ulong)TILE, n - begin);
    uint first = TILE;
    for (uint i = lid; i < count && first == TILE; i += WG_SIZE)
        if (key_of(direction, points[2 * (begin + i)], points[2 * (begin + i) + 1]) == best.key)
            first = i;
    if (first < TILE)
        atomic_min(&local_first, first);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) {
        // no point has the key only if there is a NaN: the result is then not used
        const ulong i = begin + (local_first < count ? local_first : 0);
        extreme_t found;
        found.index = i;
        found.x = points[2 * i];
        found.y = points[2 * i + 1];
        out[direction] = found;
        if (direction == 0) {
            found.index = local_poison;
            out[DIRECTIONS] = found;
        }
    }
}
