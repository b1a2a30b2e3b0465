<%page args="real='float', key='float', axes=((1, 0), (0, 1), (1, 1), (-1, 1)), variant='group', wg_size=128, items_per_thread=1, block=1024"/>\
// extremes_partial: each group's extreme points in ${2 * len(axes)} directions, all in one read (first of two launches).
//
//   points   | g0 g1 g2 .. | g0 g1 g2 .. | ..       group: strides over tiles of WG_SIZE points, GROUPS at a time
//            | g0 g0 g0 .. | g1 g1 g1 .. | ..       serial: one item a group, one contiguous share each
//   out      [ group 0: dir 0 .. dir ${2 * len(axes) - 1} | group 1: .. ]    at group first_group on; reduced by extremes_final
//
// Direction 2k is the largest, 2k + 1 the smallest of key_k(x, y), a sum of coordinates rounded once in type key.
// Ties go to the lowest index, so the answer does not depend on the order. poison[group] is not 0 when a
// coordinate is NaN or infinite (v * 0 is 0 for finite v only).
// Reads every point once (n * sizeof(point)), writes GROUPS * ${2 * len(axes)} candidates.
#include "portable.h"
typedef ${real} real_t;
typedef ${key} key_t;
#include "extreme.h"
#define WG_SIZE ${wg_size}
#define DIRECTIONS ${2 * len(axes)}
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
%>\
% for k, axis in enumerate(axes):
inline key_t key_${k}(key_t x, key_t y) { return ${projection(axis, "x", "y")}; }
% endfor

% if variant == "serial":
// The hot loop finds only the extreme keys of a block, without indices; the few blocks that improve on the best so
// far are read again, from cache, for the first point that has the key.
#define BLOCK ${block}
% for k in range(len(axes)):
% for name, better in (("highest", ">"), ("lowest", "<")):
inline void improve_${name}_${k}(global const real_t *points, ulong begin, ulong end, key_t wanted, key_t *best, ulong *where)
{
    if (!(wanted ${better} *best))
        return;
    for (ulong i = begin; i < end; ++i)
        if (key_${k}(points[2 * i], points[2 * i + 1]) == wanted) {
            *best = wanted;
            *where = i;
            return;
        }
}
% endfor
% endfor

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void extremes_partial(global const real_t *points, const ulong n, const ulong start, const ulong first_group,
                      global extreme_t *out, global uint *poison)
{
    const ulong group = get_group_id(0), groups = get_num_groups(0);
    const ulong share = ((n + groups - 1) / groups + ${vec - 1}) / ${vec} * ${vec};
    const ulong first = min(group * share, n), last = min(first + share, n);
    key_t best[DIRECTIONS];
    ulong where[DIRECTIONS];
    const ulong origin = first < n ? first : 0;
% for k in range(len(axes)):
    best[${2 * k}] = best[${2 * k + 1}] = key_${k}(points[2 * origin], points[2 * origin + 1]);
    where[${2 * k}] = where[${2 * k + 1}] = origin;
% endfor
    real_t sum = 0;
    ${real}${vec} bad = 0;
    for (ulong begin = first; begin < last; begin += BLOCK) {
        const ulong end = min(begin + BLOCK, last), whole = begin + (end - begin) / ${vec} * ${vec};
        key_t high[${len(axes)}], low[${len(axes)}];
% for k in range(len(axes)):
        high[${k}] = low[${k}] = key_${k}(points[2 * begin], points[2 * begin + 1]);
        ${key}${vec} high_${k} = high[${k}], low_${k} = low[${k}];
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
            high_${k} = p${k} > high_${k} ? p${k} : high_${k};
            low_${k} = p${k} < low_${k} ? p${k} : low_${k};
% endfor
        }
% for k in range(len(axes)):
% for lane in range(vec):
        high[${k}] = high_${k}.s${lane} > high[${k}] ? high_${k}.s${lane} : high[${k}];
        low[${k}] = low_${k}.s${lane} < low[${k}] ? low_${k}.s${lane} : low[${k}];
% endfor
% endfor
        for (ulong i = whole; i < end; ++i) {
            const key_t x = points[2 * i], y = points[2 * i + 1];
% if real != "int":
            sum += points[2 * i] * (real_t)0 + points[2 * i + 1] * (real_t)0;
% endif
% for k in range(len(axes)):
            high[${k}] = key_${k}(x, y) > high[${k}] ? key_${k}(x, y) : high[${k}];
            low[${k}] = key_${k}(x, y) < low[${k}] ? key_${k}(x, y) : low[${k}];
% endfor
        }
% for k in range(len(axes)):
        improve_highest_${k}(points, begin, end, high[${k}], &best[${2 * k}], &where[${2 * k}]);
        improve_lowest_${k}(points, begin, end, low[${k}], &best[${2 * k + 1}], &where[${2 * k + 1}]);
% endfor
    }
    for (int d = 0; d < DIRECTIONS; ++d)
        out[(first_group + group) * DIRECTIONS + d] = extreme_at(points, where[d], start);
    sum += ${" + ".join(f"bad.s{lane}" for lane in range(vec))};
    poison[first_group + group] = !(sum == 0);
}
% else:
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void extremes_partial(global const real_t *points, const ulong n, const ulong start, const ulong first_group,
                      global extreme_t *out, global uint *poison)
{
    local key_t local_keys[WG_SIZE];
    local ulong local_where[WG_SIZE];
    local uint local_poison;
    const uint lid = get_local_id(0);
    const ulong group = get_group_id(0);
    if (lid == 0)
        local_poison = 0;

    // Every item starts from a point of its own, or from point 0, which can only tie with itself.
    const ulong first = get_global_id(0) < n ? get_global_id(0) : 0;
    real_t sum = 0;
% for k in range(len(axes)):
    key_t high_${k} = key_${k}(points[2 * first], points[2 * first + 1]), low_${k} = high_${k};
    ulong high_at_${k} = first, low_at_${k} = first;
% endfor
    for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) {
        const real_t px = points[2 * i], py = points[2 * i + 1];
% if real != "int":
        sum += px * (real_t)0 + py * (real_t)0;
% endif
        const key_t x = px, y = py;
% for k in range(len(axes)):
        const key_t p${k} = key_${k}(x, y);
        if (p${k} > high_${k}) { high_${k} = p${k}; high_at_${k} = i; }
        if (p${k} < low_${k}) { low_${k} = p${k}; low_at_${k} = i; }
% endfor
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!(sum == 0))
        local_poison = 1;
% for k in range(len(axes)):
% for side, name, better in ((0, "high", ">"), (1, "low", "<")):
    local_keys[lid] = ${name}_${k};
    local_where[lid] = ${name}_at_${k};
    for (uint reach = WG_SIZE / 2; reach > 0; reach /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < reach && (local_keys[lid + reach] ${better} local_keys[lid] ||
                            (local_keys[lid + reach] == local_keys[lid] && local_where[lid + reach] < local_where[lid]))) {
            local_keys[lid] = local_keys[lid + reach];
            local_where[lid] = local_where[lid + reach];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0)
        out[(first_group + group) * DIRECTIONS + ${2 * k + side}] = extreme_at(points, local_where[0], start);
    barrier(CLK_LOCAL_MEM_FENCE);
% endfor
% endfor
    if (lid == 0)
        poison[first_group + group] = local_poison;
}
% endif
