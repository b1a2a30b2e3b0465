<%page args="real='float', bins=2048, variant='serial', wg_size=1, items_per_thread=2048, nonfinite=7"/>\
// sieve: the points that are not certainly inside the hull, in one pass, on CPUs.
//
//   points  | share of work-item 0   | of 1 | ..      in stretches of ${wg_size * items_per_thread} points, 64 bytes at a time
//   list    ids of the kept points, appended stretch by stretch; sizes[0] counts all, also those beyond the list's capacity
//
// Points in the frame's box, which is inside the hull, are dropped first. The x of another point determines a bin; if its
// height is within the bin's bounds, it is strictly inside (proof in geometry/sieve.h). NaN and infinity never are (for the
// same reason); sizes[NONFINITE] becomes 1 if there are any.
// Reads each point once.
<%
    lanes = 4 if real == "double" else 8
    vector, floats, ints = f"{real}{lanes}", f"float{lanes}", f"int{lanes}"
%>\
#define REAL ${real}
#define BINS ${bins}
#include "geometry/sieve.h"
#define WG_SIZE ${wg_size}
#define STRETCH (${max(items_per_thread // 2, 1) * 2} * WG_SIZE)
#define NONFINITE ${nonfinite}

// Which points of a vector are within the bounds of their bins. NaN is in the first bin, which is empty.
inline ${ints} are_inside(const frame_t frame, global const float2 *table, ${vector} px, ${vector} py)
{
% if real == "int":
    const float8 dx = convert_float8(as_uint8(px) - (uint)frame.left) * frame.across;
    const float8 dy = convert_float8(as_uint8(py) - (uint)frame.low) * frame.up;
    float8 x = px < frame.left ? (float8)(-1) : dx;
    const float8 y = py < frame.low ? (float8)(-1) : dy;
% else:
    ${floats} x = convert_${floats}((px - frame.left) * frame.across);
    const ${floats} y = convert_${floats}((py - frame.low) * frame.up);
% endif
    x = x > 0 ? x : (${floats})(0);
    x = x < BINS - 1 ? x : (${floats})(BINS - 1);
    const ${ints} b = convert_${ints}(x);
    const ${floats} under = (${floats})(${", ".join(f"table[b.s{k}].x" for k in range(lanes))});
    const ${floats} over = (${floats})(${", ".join(f"table[b.s{k}].y" for k in range(lanes))});
    return (y > under) & (y < over);
}

// Writes the ids of the points from `begin` to `end` that are kept to `waiting`; returns their number.
inline uint item_stay(global const real_t *points, ulong begin, ulong end, const frame_t frame, global const float2 *table,
                      uint *waiting)
{
    const ${vector} low = (${vector})(${", ".join(["frame.box_left, frame.box_bottom"] * (lanes // 2))});
    const ${vector} high = (${vector})(${", ".join(["frame.box_right, frame.box_top"] * (lanes // 2))});
    uint waits = 0;
    ulong i = begin;
    for (; i + ${lanes} <= end; i += ${lanes}) {
        const ${vector} v0 = vload${lanes}(0, points + 2 * i), v1 = vload${lanes}(0, points + 2 * i + ${lanes});
        if (all((v0 > low) & (v0 < high) & (v1 > low) & (v1 < high)))
            continue;
        const ${ints} inside = are_inside(frame, table, (${vector})(v0.even, v1.even), (${vector})(v0.odd, v1.odd));
        if (all(inside))
            continue;
% for k in range(lanes):
        waiting[waits] = i + ${k};
        waits += !inside.s${k};
% endfor
    }
    for (; i < end; ++i)                             // the few points after the last vector are kept
        waiting[waits++] = i;
    return waits;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void sieve(global const real_t *points, const ulong n, global const frame_t *frames, global const float2 *table,
           global uint *sizes, const uint room, global uint *list)
{
    const frame_t frame = *frames;
    const ulong share = (n + get_num_groups(0) - 1) / get_num_groups(0);
    const ulong first = min(get_group_id(0) * share, n), end = min(first + share, n);
    uint waiting[STRETCH + ${lanes}];
    for (ulong begin = first; begin < end; begin += STRETCH) {
        const uint waits = item_stay(points, begin, min(begin + STRETCH, end), frame, table, waiting);
        if (waits == 0)
            continue;
        const uint index = atomic_add(sizes, waits);
        for (uint k = 0; k < waits; ++k) {
% if real != "int":
            const ulong row = waiting[k];
            if (!(isfinite(points[2 * row]) && isfinite(points[2 * row + 1])))
                sizes[NONFINITE] = 1;
% endif
            if (index + k < room)
                list[index + k] = waiting[k];
        }
    }
}
