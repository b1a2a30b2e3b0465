<%page args="real='float', key='float', axes=((1, 0), (0, 1), (1, 1), (-1, 1)), variant='group', wg_size=64, items_per_thread=1"/>\
// extremes_final: the best of all groups' candidates, a direction per group (second of two launches).
//
//   candidates  [ group 0: dir 0 .. | group 1: dir 0 .. | .. ]      from extremes_partial
//   group d     reads every DIRECTIONS-th candidate from the d-th on, a few per item, then a tree
//   out         [ dir 0 .. dir ${2 * len(axes) - 1} ], then the poison: a last entry with index 1 if any group saw a NaN or infinity
//
// Reads candidates * sizeof(extreme_t) bytes.
#include "portable.h"
typedef ${real} real_t;
typedef ${key} key_t;
#include "extreme.h"
#define WG_SIZE ${wg_size}
#define DIRECTIONS ${2 * len(axes)}

inline key_t key_of(uint direction, extreme_t e)
{
    const key_t x = e.x, y = e.y;
% for k, (a, b) in enumerate(axes):
    if (direction / 2 == ${k})
        return ${"y + x" if a > 0 and b else "y - x" if a and b else "x" if a else "y"};
% endfor
    return 0;
}

inline int better(uint direction, extreme_t a, extreme_t b)
{
    const key_t ka = key_of(direction, a), kb = key_of(direction, b);
    if (ka == kb)
        return a.index < b.index;
    return direction & 1 ? ka < kb : ka > kb;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void extremes_final(global const extreme_t *candidates, global const uint *poison, const uint groups,
                    global extreme_t *out)
{
    local extreme_t local_best[WG_SIZE];
    local uint local_poison;
    const uint lid = get_local_id(0), direction = get_group_id(0);
    if (lid == 0)
        local_poison = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    extreme_t best = candidates[direction];
    for (uint g = lid; g < groups; g += WG_SIZE) {
        const extreme_t other = candidates[(ulong)g * DIRECTIONS + direction];
        if (better(direction, other, best))
            best = other;
        if (poison[g])
            local_poison = 1;
    }
    local_best[lid] = best;
    for (uint reach = WG_SIZE / 2; reach > 0; reach /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < reach && better(direction, local_best[lid + reach], local_best[lid]))
            local_best[lid] = local_best[lid + reach];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) {
        out[direction] = local_best[0];
        if (direction == 0) {
            extreme_t flag = local_best[0];
            flag.index = local_poison;
            out[DIRECTIONS] = flag;
        }
    }
}
