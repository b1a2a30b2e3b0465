<%page args="real='float', key='float', axes=((1, 0), (0, 1), (1, 1), (-1, 1)), tile=2048, variant='group', wg_size=128, items_per_thread=1"/>\
// extremes_partial: each group's extreme keys in ${2 * len(axes)} directions, all in one read (first of two launches).
//
//   points   | tile 0      | tile 1      | ..        a tile of ${tile} points at a time, GROUPS tiles apart
//   out      [ group 0: dir 0 .. dir ${2 * len(axes) - 1} | group 1: .. ]
//
// Direction 2k is the largest, 2k + 1 the smallest of key_k(x, y), a sum of coordinates rounded once in type key.
// The main loop finds keys only; a candidate has the number of the first tile with its key, where extremes_final finds
// the first point. So the point of the lowest index is found, for every work-group shape. poison[group] is not 0 if a
// coordinate is NaN or infinite (v * 0 is 0 for finite v only).
// Reads every point once (n * sizeof(point)), writes GROUPS * ${2 * len(axes)} candidates.
#define INTEGERS ${int(real == "int")}
#define REAL ${real}
#include "geometry/points.h"
typedef ${key} key_t;
#include "geometry/extreme.h"
#define WG_SIZE ${wg_size}
#include "group/reduce.h"
#define TILE ${tile}
#define DIRECTIONS ${2 * len(axes)}
<%
    def projection(axis, x, y):
        a, b = axis
        if a and b:
            return f"{'' if b > 0 else '-'}{y} {'+' if a > 0 else '-'} {x}"
        return f"{'' if a + b > 0 else '-'}{x if a else y}"
    greater, smaller = ("fmax", "fmin") if key in ("float", "double") else ("max", "min")
%>\
% for k, axis in enumerate(axes):
inline key_t key_${k}(key_t x, key_t y) { return ${projection(axis, "x", "y")}; }
% endfor

// The keys of a work-item's points of a tile; poison adds up to 0 if all of them are finite.
inline void tile_extremes(global const real_t *row, uint last, uint lid, key_t *high, key_t *low, real_t *poison)
{
#pragma unroll
    for (uint i = 0; i < TILE / WG_SIZE; ++i) {
        const ${real}2 p = CLGEOM_LOAD2(${real}, row, min(i * WG_SIZE + lid, last));   // a repeated point has no effect
#if !INTEGERS
        *poison += p.x * (real_t)0 + p.y * (real_t)0;
#endif
        const key_t x = p.x, y = p.y;
% for k in range(len(axes)):
        const key_t p${k} = key_${k}(x, y);
        high[${k}] = i ? ${greater}(high[${k}], p${k}) : p${k};
        low[${k}] = i ? ${smaller}(low[${k}], p${k}) : p${k};
% endfor
    }
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void extremes_partial(global const real_t *points, const ulong n, global candidate_t *out, global uint *poison)
{
    const uint group = get_group_id(0), groups = get_num_groups(0), tiles = (n + TILE - 1) / TILE;
    real_t sum = 0;
    local candidate_t local_best[WG_SIZE];
    local uint local_poison;
    const uint lid = get_local_id(0);
    if (lid == 0)
        local_poison = 0;
% for k in range(len(axes)):
    key_t best_high_${k} = 0, best_low_${k} = 0;
    uint tile_high_${k} = 0, tile_low_${k} = 0;
% endfor
    for (uint tile = group; tile < tiles; tile += groups) {   // there are no more groups than tiles
        global const ${real} *const row = points + (ulong)tile * TILE * 2;
        const uint last = (uint)min((ulong)TILE, n - (ulong)tile * TILE) - 1;
        key_t high[DIRECTIONS / 2], low[DIRECTIONS / 2];
        tile_extremes(row, last, lid, high, low, &sum);
% for k in range(len(axes)):
% for side, better in (("high", ">"), ("low", "<")):
        if (tile == group || ${side}[${k}] ${better} best_${side}_${k}) {
            best_${side}_${k} = ${side}[${k}];
            tile_${side}_${k} = tile;
        }
% endfor
% endfor
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!(sum == 0))
        local_poison = 1;
% for d in range(2 * len(axes)):
    local_best[lid].key = best_${("high", "low")[d % 2]}_${d // 2};
    local_best[lid].tile = tile_${("high", "low")[d % 2]}_${d // 2};
    GROUP_REDUCE(lid, other, if (better(${d}, local_best[other], local_best[lid])) local_best[lid] = local_best[other]);
    if (lid == 0)
        out[group * DIRECTIONS + ${d}] = local_best[0];
    barrier(CLK_LOCAL_MEM_FENCE);
% endfor
    if (lid == 0)
        poison[group] = local_poison;
}
