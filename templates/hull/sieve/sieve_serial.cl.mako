<%page args="real='float', bins=2048, variant='serial', wg_size=1, items_per_thread=2048, nonfinite=7"/>\
<%
    block = 64                                           # bits of a word
    long_t = "long" if real == "double" else "int"       # of comparisons
    width = 4 if real == "double" else 8                 # 32 bytes at most: some CPU compilers break wider vectors
    points = width // 2                                  # of a vector
    parts = range(8 // points)                           # vectors of 8 points
    vector, truth = f"{real}{width}", f"{long_t}{width}"
    scaled = "float8" if real == "int" else vector
    sequence = 0x03F79D71B4CB0A89                        # of de Bruijn: all its 64 parts of 6 bits are different
    places = sorted(range(block), key=lambda bit: (sequence << bit) % (1 << 64) >> 58)
    def pairs(x, y):
        return f"({vector})({', '.join([x, y] * points)})"
    def joined(name):
        return ", ".join(f"{name}{part}" for part in parts)
%>\
// sieve: the points that are not certainly inside the hull, in one pass, on CPUs.
//
//   points  | share of work-item 0          | of 1 | ..
//           | stretch | stretch | ..                      blocks of 64 points; bit 8 l + k of a block is point 8 k + l
//   list    ids of the kept points, appended stretch by stretch; sizes[0] counts all, also those beyond the list's capacity
//
// Points in ${"a box" if real == "int" else "a polygon of twelve sides"}, which is inside the hull, are dropped first. The x of another point determines a bin; if its
// height is within the bin's bounds, it is strictly inside (proof in geometry/sieve.h). NaN and infinity never are (for the
// same reason); sizes[NONFINITE] becomes 1 if there are any.
// No branch depends on one point, because a CPU mispredicts those. Where the first block of a stretch has many points
// outside the ${"box" if real == "int" else "polygon"}, the others do not try it, and find the bins of all their points.
// Reads each point once. Zen 5, 1e7 float64 points, ns a point and core: normal 0.8, in a disc 1.3, reading alone 0.67; with a
// box for the polygon 1.5 and 2.1.
#define INTEGERS ${int(real == "int")}
#define REAL ${real}
#define BINS ${bins}
#include "geometry/sieve.h"
% if real != "int":
#include "geometry/dodecagon.h"
% endif
#define WG_SIZE ${wg_size}
#define BLOCK ${block}
#define STRETCH ${max(items_per_thread // block, 1) * block}
#define NONFINITE ${nonfinite}
#define MANY (BLOCK / 4)      // points outside the ${"box" if real == "int" else "polygon"}, of a block, for which bins are faster
% if real == "int":
typedef frame_t inside_t;     // has the box
% else:
typedef dodecagon_t inside_t;
% endif
// Vector i. A compiler makes one load of these; calls of vload${width} remain calls where PoCL's library is built for more
// instructions than its kernels, as on Zen 5.
#define LOAD(i, array) (${vector})(${", ".join(f"(array)[{width} * (i) + {k}]" for k in range(width))})
#ifdef __ENDIAN_LITTLE__
#define WORD(bytes) as_ulong(bytes)
#else
#define WORD(bytes) as_ulong((bytes).s76543210)
#endif
// The point of the block for a bit, by the highest 6 bits of its product with this number, which differ for all bits.
#define SEQUENCE ${hex(sequence)}UL
constant uchar POINT_OF[64] = {${", ".join(str(8 * (bit % 8) + bit // 8) for bit in places)}};

// The points of a block that are not in the ${"frame's box" if real == "int" else "polygon"}.
inline ulong outside_inner(global const real_t *block, const inside_t inner)
{
% if real == "int":
    const ${vector} low = ${pairs("inner.box_left", "inner.box_bottom")};
    const ${vector} high = ${pairs("inner.box_right", "inner.box_top")};
% else:
    const ${vector} centre = ${pairs("inner.x", "inner.y")}, reach = ${pairs("inner.half_width", "inner.half_height")};
    const ${vector} slope = ${pairs("inner.slope.x", "inner.slope.y")}, sum = ${pairs("inner.sum.x", "inner.sum.y")};
    const ${truth} magnitude = (${truth})(${"LONG_MAX" if real == "double" else "INT_MAX"});     // all bits but the sign
% endif
    ${truth} ${", ".join(f"out{part} = 0" for part in parts)};
#pragma unroll
    for (uint k = 0; k < 8; ++k) {
        const ${truth} bit = (${truth})((${long_t})1 << k);
% for part in parts:
        const ${vector} v${part} = LOAD(${len(parts)} * k + ${part}, block);
%     if real == "int":
        const ${truth} in${part} = (v${part} > low) & (v${part} < high);
%     else:
        const ${vector} d${part} = as_${vector}(as_${truth}(v${part} - centre) & magnitude);
        const ${truth} in${part} = (d${part} < reach) & (d${part} * slope + d${part}.s${"10325476"[:width]} < sum);
%     endif
        out${part} |= in${part} ? (${truth})(0) : bit;
% endfor
    }
% for part in parts:
    const uchar${points} bits${part} = convert_uchar${points}(out${part}.even | out${part}.odd);
% endfor
    return WORD((uchar8)(${joined("bits")}));
}

// The points of a block that are not within the bounds of their bins. NaN is in the first bin, which is empty.
inline ulong outside_bins(global const real_t *block, const frame_t frame, global const float2 *table)
{
    const ${vector} origin = ${pairs("frame.left", "frame.low")};
    const ${scaled} scale = (${scaled})(${", ".join(["frame.across, frame.up"] * points)});
    int8 out = 0;
    for (uint k = 0; k < 8; ++k) {
% for part in parts:
        const ${vector} v${part} = LOAD(${len(parts)} * k + ${part}, block);
%     if real == "int":
        const float8 d${part} = convert_float8(as_uint8(v${part}) - as_uint8(origin)) * scale;
        const float8 f${part} = v${part} < origin ? (float8)(-1) : d${part};
%     else:
        const float${width} f${part} = convert_float${width}((v${part} - origin) * scale);
%     endif
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
    return WORD(convert_uchar8(out));
}

// Writes `begin` plus the places of the bits of a block to `ids`; returns their number.
inline uint item_list(ulong bits, uint begin, uint *ids)
{
    uint count = 0;
    if (bits == ULONG_MAX)
        for (; count < BLOCK; ++count)
            ids[count] = begin + count;
    else
        for (; bits; bits &= bits - 1)
            ids[count++] = begin + POINT_OF[(bits & -bits) * SEQUENCE >> 58];
    return count;
}

// Keeps those of `count` ids whose points are not within the bounds of their bins; returns their number.
inline uint item_cut(global const real_t *points, const frame_t frame, global const float2 *table, uint *ids, uint count)
{
    uint waits = 0;
    for (uint k = 0; k < count; ++k) {
        const uint id = ids[k];
        const float2 bound = table[bin_of(frame, points[2 * (size_t)id])];
        const float y = scaled(points[2 * (size_t)id + 1], frame.low, frame.up);
        ids[waits] = id;
        waits += !((y > bound.x) & (y < bound.y));
    }
    return waits;
}

// Writes the ids of the points from `begin` to `end` that are kept to `waiting`; returns their number.
inline uint item_stay(global const real_t *points, ulong begin, ulong end, const frame_t frame, const inside_t inner,
                      global const float2 *table, uint *waiting)
{
    uint count = 0;
    ulong i = begin;
    const int crowded = begin + BLOCK <= end && popcount(outside_inner(points + 2 * begin, inner)) > MANY;
    for (; i + BLOCK <= end; i += BLOCK) {
        global const real_t *const block = points + 2 * i;
        const ulong out = crowded ? outside_bins(block, frame, table) : outside_inner(block, inner);
        count += item_list(out, i, waiting + count);
    }
    for (; i < end; ++i)
        waiting[count++] = i;
    return crowded ? count : item_cut(points, frame, table, waiting, count);
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void sieve(global const real_t *points, const ulong n, global const frame_t *frames, global const float2 *table,
           global uint *sizes, const uint room, global uint *list)
{
    const frame_t frame = *frames;
% if real == "int":
    const inside_t inner = frame;
% else:
    const inside_t inner = *(global const dodecagon_t *)(frames + 1);
% endif
    const ulong share = (n + get_num_groups(0) - 1) / get_num_groups(0);
    const ulong first = min(get_group_id(0) * share, n), end = min(first + share, n);
    uint waiting[STRETCH];
    for (ulong begin = first; begin < end; begin += STRETCH) {
        const uint waits = item_stay(points, begin, min(begin + STRETCH, end), frame, inner, table, waiting);
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
