<%page args="real='float', key='float', axes=((1, 0), (0, 1), (1, 1), (-1, 1)), tile=2048, variant='serial', wg_size=1, items_per_thread=1"/>\
// extremes_partial: each group's extreme keys in ${2 * len(axes)} directions, all in one read (first of two launches).
// The version of CPUs: a work-item reads its share by vectors.
//
//   points   | tile 0 | tile 1 | .. | tile .. |        tiles of ${tile} points, side by side in the share of a group
//   out      [ group 0: dir 0 .. dir ${2 * len(axes) - 1} | group 1: .. ]
//
// Direction 2k is the largest, 2k + 1 the smallest of key_k(x, y), a sum of coordinates rounded once in type key.
// A candidate has the number of the first tile with its key, where extremes_final finds the first point. poison[group] is
// not 0 if a coordinate is NaN or infinite (v * 0 is 0 for finite v only).
// Reads every point once (n * sizeof(point)), writes GROUPS * ${2 * len(axes)} candidates.
#define INTEGERS ${int(real == "int")}
#define REAL ${real}
#include "geometry/points.h"
typedef ${key} key_t;
#include "geometry/extreme.h"
#define TILE ${tile}
#define DIRECTIONS ${2 * len(axes)}
#define GREATER(a, b) ((a) > (b) ? (a) : (b))
#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
<%
    def projection(axis, x, y):
        """key_k of scalars or vectors x and y."""
        a, b = axis
        if a and b:
            return f"{'' if b > 0 else '-'}{y} {'+' if a > 0 else '-'} {x}"
        return f"{'' if a + b > 0 else '-'}{x if a else y}"
    vec = 8 if key == "float" else 4  # 32 bytes at most: some CPU compilers break wider vectors
    def deal(odd):  # x or y of the points of v and w, in the order that one shuffle instruction gives
        pairs = [("v", 0), ("w", 0), ("v", 2), ("w", 2)] if vec == 4 else [
            (side, lane + k) for lane in (0, 4) for side in "vw" for k in (0, 2)]
        return ", ".join(f"{side}.s{lane + odd}" for side, lane in pairs)
    def widen(v):  # a conversion to the same type is not left to the compiler: one of them fails on it
        return v if key == real else f"convert_{key}{vec}({v})"
%>\
typedef ${real}${vec} reals_t;
typedef ${key}${vec} keys_t;

// The extreme keys of whole vectors of points, begin to end; poison adds up to 0 if all of them are finite.
inline void vector_extremes(global const real_t *points, ulong begin, ulong end, key_t *extreme, reals_t *poison)
{
% for k, axis in enumerate(axes):
    keys_t high_${k} = extreme[${2 * k}], low_${k} = extreme[${2 * k + 1}];
% endfor
    reals_t sums = *poison;
    for (ulong i = begin; i < end; i += ${vec}) {
        const reals_t v = vload${vec}(0, points + 2 * i), w = vload${vec}(0, points + 2 * i + ${vec});
#if !INTEGERS
        sums += v * (real_t)0;
        sums += w * (real_t)0;
#endif
        const reals_t px = (reals_t)(${deal(0)}), py = (reals_t)(${deal(1)});
        const keys_t x = ${widen("px")}, y = ${widen("py")};
% for k, axis in enumerate(axes):
        const keys_t p${k} = ${projection(axis, "x", "y")};
        high_${k} = GREATER(p${k}, high_${k});
        low_${k} = SMALLER(p${k}, low_${k});
% endfor
    }
    *poison = sums;
% for k in range(len(axes)):
% for lane in range(vec):
    extreme[${2 * k}] = GREATER(high_${k}.s${lane}, extreme[${2 * k}]);
    extreme[${2 * k + 1}] = SMALLER(low_${k}.s${lane}, extreme[${2 * k + 1}]);
% endfor
% endfor
}

// The same for single points.
inline void point_extremes(global const real_t *points, ulong begin, ulong end, key_t *extreme, real_t *poison)
{
    for (ulong i = begin; i < end; ++i) {
        const key_t x = points[2 * i], y = points[2 * i + 1];
#if !INTEGERS
        *poison += points[2 * i] * (real_t)0 + points[2 * i + 1] * (real_t)0;
#endif
% for k, axis in enumerate(axes):
        extreme[${2 * k}] = GREATER(${projection(axis, "x", "y")}, extreme[${2 * k}]);
        extreme[${2 * k + 1}] = SMALLER(${projection(axis, "x", "y")}, extreme[${2 * k + 1}]);
% endfor
    }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void extremes_partial(global const real_t *points, const ulong n, global candidate_t *out, global uint *poison)
{
    const uint group = get_group_id(0), groups = get_num_groups(0), tiles = (n + TILE - 1) / TILE;
    const uint share = (tiles + groups - 1) / groups;
    const uint first = min(group * share, tiles - 1), last = min(first + share, tiles);
    candidate_t best[DIRECTIONS];
    real_t sum = 0;
    reals_t sums = 0;
    for (uint tile = first; tile < last; ++tile) {
        const ulong begin = (ulong)tile * TILE, end = min(begin + TILE, n);
        const ulong whole = begin + (end - begin) / ${vec} * ${vec};
        const key_t x = points[2 * begin], y = points[2 * begin + 1];
        key_t extreme[DIRECTIONS];
% for k, axis in enumerate(axes):
        extreme[${2 * k}] = extreme[${2 * k + 1}] = ${projection(axis, "x", "y")};
% endfor
        vector_extremes(points, begin, whole, extreme, &sums);
        point_extremes(points, whole, end, extreme, &sum);
        for (uint d = 0; d < DIRECTIONS; ++d)
            if (tile == first || (d & 1 ? extreme[d] < best[d].key : extreme[d] > best[d].key)) {
                best[d].key = extreme[d];
                best[d].tile = tile;
            }
    }
    for (uint d = 0; d < DIRECTIONS; ++d)
        out[group * DIRECTIONS + d] = best[d];
    sum += ${" + ".join(f"sums.s{lane}" for lane in range(vec))};
    poison[group] = !(sum == 0);
}
