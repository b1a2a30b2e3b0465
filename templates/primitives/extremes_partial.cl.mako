<%page args="real='float', key='float', axes=((1, 0), (0, 1), (1, 1), (-1, 1)), tile=2048, variant='group', wg_size=128, items_per_thread=1"/>\
// extremes_partial: each group's extreme keys in ${2 * len(axes)} directions, all in one read (first of two launches).
//
//   points   | tile 0      | tile 1      | ..        group: a tile of ${tile} points at a time, GROUPS tiles apart
//                                                    serial: one item a group, tiles side by side
//   out      [ group 0: dir 0 .. dir ${2 * len(axes) - 1} | group 1: .. ]
//
// Direction 2k is the largest, 2k + 1 the smallest of key_k(x, y), a sum of coordinates rounded once in type key.
// The hot loop finds keys only; a candidate names the first tile that has its key, and extremes_final looks there for
// the first point. So ties go to the lowest index, whatever the shape. poison[group] is not 0 when a coordinate is NaN
// or infinite (v * 0 is 0 for finite v only).
// Reads every point once (n * sizeof(point)), writes GROUPS * ${2 * len(axes)} candidates.
#define REAL ${real}
#include "geometry/points.h"
typedef ${key} key_t;
#include "geometry/extreme.h"
#define WG_SIZE ${wg_size}
#include "group/reduce.h"
#define TILE ${tile}
#define DIRECTIONS ${2 * len(axes)}
#define GREATER(a, b) ((a) > (b) ? (a) : (b))
#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
<%
    def term(weight, name):
        return {1: name, -1: f"-{name}", 0: ""}[weight]
    def projection(axis, x, y):
        a, b = axis
        if a and b:
            return f"{term(b, y)} {'+' if a > 0 else '-'} {x}"
        return term(a, x) or term(b, y)
    vec = 8 if key == "float" else 4  # 32 bytes at most: some CPU compilers break wider vectors
    def deal(odd):  # x or y of the points of v and w, in the order that one shuffle instruction gives
        pairs = [("v", 0), ("w", 0), ("v", 2), ("w", 2)] if vec == 4 else [
            (side, lane + k) for lane in (0, 4) for side in "vw" for k in (0, 2)]
        return ", ".join(f"{side}.s{lane + odd}" for side, lane in pairs)
    def widen(v):  # a conversion to the same type is not left to the compiler: one of them fails on it
        return v if key == real else f"convert_{key}{vec}({v})"
    greater, smaller = ("fmax", "fmin") if key in ("float", "double") else ("max", "min")
%>\
% for k, axis in enumerate(axes):
inline key_t key_${k}(key_t x, key_t y) { return ${projection(axis, "x", "y")}; }
% endfor

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void extremes_partial(global const real_t *points, const ulong n, global candidate_t *out, global uint *poison)
{
    const uint group = get_group_id(0), groups = get_num_groups(0), tiles = (n + TILE - 1) / TILE;
    real_t sum = 0;
% if variant == "serial":
    const uint share = (tiles + groups - 1) / groups;
    const uint first = min(group * share, tiles - 1), last = min(first + share, tiles);
    candidate_t best[DIRECTIONS];
    ${real}${vec} bad = 0;
    for (uint tile = first; tile < last; ++tile) {
        const ulong begin = (ulong)tile * TILE, end = min(begin + TILE, n), whole = begin + (end - begin) / ${vec} * ${vec};
        key_t extreme[DIRECTIONS];
% for k in range(len(axes)):
        extreme[${2 * k}] = extreme[${2 * k + 1}] = key_${k}(points[2 * begin], points[2 * begin + 1]);
        ${key}${vec} high_${k} = extreme[${2 * k}], low_${k} = extreme[${2 * k + 1}];
% endfor
        for (ulong i = begin; i < whole; i += ${vec}) {
            const ${real}${vec} v = vload${vec}(0, points + 2 * i), w = vload${vec}(0, points + 2 * i + ${vec});
% if real != "int":
            bad += v * (real_t)0;
            bad += w * (real_t)0;
% endif
            const ${real}${vec} px = (${real}${vec})(${deal(0)}), py = (${real}${vec})(${deal(1)});
            const ${key}${vec} x = ${widen("px")}, y = ${widen("py")};
% for k, axis in enumerate(axes):
            const ${key}${vec} p${k} = ${projection(axis, "x", "y")};
            high_${k} = GREATER(p${k}, high_${k});
            low_${k} = SMALLER(p${k}, low_${k});
% endfor
        }
% for k in range(len(axes)):
% for lane in range(vec):
        extreme[${2 * k}] = GREATER(high_${k}.s${lane}, extreme[${2 * k}]);
        extreme[${2 * k + 1}] = SMALLER(low_${k}.s${lane}, extreme[${2 * k + 1}]);
% endfor
% endfor
        for (ulong i = whole; i < end; ++i) {
            const key_t x = points[2 * i], y = points[2 * i + 1];
% if real != "int":
            sum += points[2 * i] * (real_t)0 + points[2 * i + 1] * (real_t)0;
% endif
% for k in range(len(axes)):
            extreme[${2 * k}] = GREATER(key_${k}(x, y), extreme[${2 * k}]);
            extreme[${2 * k + 1}] = SMALLER(key_${k}(x, y), extreme[${2 * k + 1}]);
% endfor
        }
        for (uint d = 0; d < DIRECTIONS; ++d)
            if (tile == first || (d & 1 ? extreme[d] < best[d].key : extreme[d] > best[d].key)) {
                best[d].key = extreme[d];
                best[d].tile = tile;
            }
    }
    for (uint d = 0; d < DIRECTIONS; ++d)
        out[group * DIRECTIONS + d] = best[d];
    sum += ${" + ".join(f"bad.s{lane}" for lane in range(vec))};
    poison[group] = !(sum == 0);
% else:
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
% for k in range(len(axes)):
        key_t high_${k}, low_${k};
% endfor
#pragma unroll
        for (uint i = 0; i < TILE / WG_SIZE; ++i) {
            const ${real}2 p = CLGEOM_LOAD2(${real}, row, min(i * WG_SIZE + lid, last));   // a point twice does no harm
% if real != "int":
            sum += p.x * (real_t)0 + p.y * (real_t)0;
% endif
            const key_t x = p.x, y = p.y;
% for k, axis in enumerate(axes):
            const key_t p${k} = key_${k}(x, y);
            high_${k} = i ? ${greater}(high_${k}, p${k}) : p${k};
            low_${k} = i ? ${smaller}(low_${k}, p${k}) : p${k};
% endfor
        }
% for k in range(len(axes)):
% for side, better in (("high", ">"), ("low", "<")):
        if (tile == group || ${side}_${k} ${better} best_${side}_${k}) {
            best_${side}_${k} = ${side}_${k};
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
% endif
}
