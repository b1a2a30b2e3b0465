<%page args="real='float', bins=2048, variant='serial', wg_size=1, items_per_thread=2048, nonfinite=7"/>\
<%
    vectors = max(min(items_per_thread // 8, 32), 1)     # a bit of a lane for each
    block = 8 * vectors
    long_t = "long" if real == "double" else "int"       # of comparisons
    width = 4 if real == "double" else 8                 # 32 bytes at most: some CPU compilers break wider vectors
    parts = range(16 // width)                           # of a vector of 8 points
    vector, truth = f"{real}{width}", f"{long_t}{width}"
    scaled = "float8" if real == "int" else vector
    def joined(name):
        return ", ".join(f"{name}{part}" for part in parts)
%>\
// sieve: the points that are not certainly inside the hull, in one pass, on CPUs.
//
//   points  | share of work-item 0          | of 1 | ..
//           | block | block | ..                          ${vectors} vectors of 8 points; bit k of lane l is point 8 k + l
//   list    ids of the kept points, appended stretch by stretch; sizes[0] counts all, also those beyond the list's capacity
//
// Points in the frame's box, which is inside the hull, are dropped first. The x of another point determines a bin; if its
// height is within the bin's bounds, it is strictly inside (proof in geometry/sieve.h). NaN and infinity never are (for the
// same reason); sizes[NONFINITE] becomes 1 if there are any.
// No branch depends on one point, because a CPU mispredicts those. Where the first block of a stretch has many points
// outside the box, the others do not try it, and find the bins of all their points in vectors.
// Reads each point once. Zen 5, 1e7 float64 points, ns a point and core: normal 0.68, in a disc 1.4, of which reading
// takes 0.4; with a test of 4 points at a time 0.91 and 3.0.
#define INTEGERS ${int(real == "int")}
#define REAL ${real}
#define BINS ${bins}
#include "geometry/sieve.h"
#define WG_SIZE ${wg_size}
#define VECTORS ${vectors}
#define BLOCK ${block}
#define STRETCH ${max(items_per_thread // block, 1) * block}
#define NONFINITE ${nonfinite}
#define MANY (BLOCK / 8)      // points outside the box, of a block, for which vectors are faster

// The points of a block that are not in the frame's box.
inline uint8 outside_box(global const real_t *block, const frame_t frame)
{
    const ${vector} low = (${vector})(${", ".join(["frame.box_left, frame.box_bottom"] * (width // 2))});
    const ${vector} high = (${vector})(${", ".join(["frame.box_right, frame.box_top"] * (width // 2))});
    ${truth} ${", ".join(f"out{part} = 0" for part in parts)};
    for (uint k = 0; k < VECTORS; ++k) {
        const ${truth} bit = (${truth})((${long_t})1 << k);
% for part in parts:
        const ${vector} v${part} = vload${width}(${len(parts)} * k + ${part}, block);
        out${part} |= ((v${part} > low) & (v${part} < high)) ? (${truth})(0) : bit;
% endfor
    }
% for part in parts:
    const uint${width // 2} found${part} = convert_uint${width // 2}(out${part}.even | out${part}.odd);
% endfor
    return (uint8)(${joined("found")});
}

// The points of a block that are not within the bounds of their bins. NaN is in the first bin, which is empty.
inline uint8 outside_bins(global const real_t *block, const frame_t frame, global const float2 *table)
{
    const ${vector} origin = (${vector})(${", ".join(["frame.left, frame.low"] * (width // 2))});
    const ${scaled} scale = (${scaled})(${", ".join(["frame.across, frame.up"] * (width // 2))});
    int8 out = 0;
    for (uint k = 0; k < VECTORS; ++k) {
% for part in parts:
        const ${vector} v${part} = vload${width}(${len(parts)} * k + ${part}, block);
% if real == "int":
        const float8 d${part} = convert_float8(as_uint8(v${part}) - as_uint8(origin)) * scale;
        const float8 f${part} = v${part} < origin ? (float8)(-1) : d${part};
% else:
        const float${width} f${part} = convert_float${width}((v${part} - origin) * scale);
% endif
% endfor
% if width == 4:
        const float8 low = (float8)(f0, f1), high = (float8)(f2, f3);
        float8 x = (float8)(low.even, high.even);
        const float8 y = (float8)(low.odd, high.odd);
% else:
        float8 x = (float8)(f0.even, f1.even);
        const float8 y = (float8)(f0.odd, f1.odd);
% endif
        x = x > 0 ? x : (float8)(0);
        x = x < BINS - 1 ? x : (float8)(BINS - 1);
        const int8 b = convert_int8(x);
        const float8 under = (float8)(${", ".join(f"table[b.s{k}].x" for k in range(8))});
        const float8 over = (float8)(${", ".join(f"table[b.s{k}].y" for k in range(8))});
        out |= ((y > under) & (y < over)) ? (int8)(0) : (int8)((int)1 << k);
    }
    return as_uint8(out);
}

// The number of points in the bits of a block.
inline uint item_count(uint8 bits)
{
    const uint8 ones = popcount(bits);
    return ones.s0 + ones.s1 + ones.s2 + ones.s3 + ones.s4 + ones.s5 + ones.s6 + ones.s7;
}

// Writes `begin` plus the places of the bits of a block to `ids`; returns their number.
inline uint item_list(uint8 bits, uint begin, uint *ids)
{
    uint lanes[8], count = 0;
    vstore8(bits, 0, lanes);
    if (item_count(bits) == BLOCK) {
        for (; count < BLOCK; ++count)
            ids[count] = begin + count;
        return count;
    }
    for (uint lane = 0; lane < 8; ++lane)
        for (uint left = lanes[lane]; left; left &= left - 1)
            ids[count++] = begin + lane + 8 * popcount((left & -left) - 1);
    return count;
}

// Writes the ids of the points from `begin` to `end` that are kept to `waiting`; returns their number.
inline uint item_stay(global const real_t *points, ulong begin, ulong end, const frame_t frame, global const float2 *table,
                      uint *waiting)
{
    uint ids[BLOCK], waits = 0;
    int crowded = 0;
    for (ulong i = begin; i < end; i += BLOCK) {
        global const real_t *const block = points + 2 * i;
        uint count = 0;
        if (i + BLOCK > end)
            for (; i + count < end; ++count)
                ids[count] = i + count;
        else {
            uint8 out = 0;
            if (!crowded) {
                out = outside_box(block, frame);
                crowded = item_count(out) > MANY;
            }
            if (crowded) {
                waits += item_list(outside_bins(block, frame, table), i, waiting + waits);
                continue;
            }
            count = item_list(out, i, ids);
        }
        for (uint k = 0; k < count; ++k) {
            const real_t px = points[2 * (size_t)ids[k]], py = points[2 * (size_t)ids[k] + 1];
            const float2 bound = table[bin_of(frame, px)];
            const float y = scaled(py, frame.low, frame.up);
            waiting[waits] = ids[k];
            waits += !((y > bound.x) & (y < bound.y));
        }
    }
    return waits;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void sieve(global const real_t *points, const ulong n, global const frame_t *frames, global const float2 *table,
           global uint *sizes, const uint room, global uint *list)
{
    const frame_t frame = *frames;
    const ulong share = (n + get_num_groups(0) - 1) / get_num_groups(0);
    const ulong first = min(get_group_id(0) * share, n), end = min(first + share, n);
    uint waiting[STRETCH];
    for (ulong begin = first; begin < end; begin += STRETCH) {
        const uint waits = item_stay(points, begin, min(begin + STRETCH, end), frame, table, waiting);
        if (waits == 0)
            continue;
        const uint index = atomic_add(sizes, waits);
        for (uint k = 0; k < waits; ++k) {
#if !INTEGERS
            const ulong row = waiting[k];
            if (!(isfinite(points[2 * row]) && isfinite(points[2 * row + 1])))
                sizes[NONFINITE] = 1;
#endif
            if (index + k < room)
                list[index + k] = waiting[k];
        }
    }
}
