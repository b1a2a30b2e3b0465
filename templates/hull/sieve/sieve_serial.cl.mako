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
    def pairs(x, y, kind=vector):
        return f"({kind})({', '.join([x, y] * points)})"
    def joined(name):
        return ", ".join(f"{name}{part}" for part in parts)
%>\
// sieve: the points that are not certainly inside the hull, in one pass, on CPUs.
//
//   points  | share of work-item 0          | of 1 | ..
//           | stretch | stretch | ..                      one in `every`, or the rest; blocks of 64 points; bit 8 l + k of a block is point 8 k + l
//   list    ids of the kept points, appended stretch by stretch; sizes[0] counts all, also those beyond the list's capacity
//
// Points in a box or an ellipse, which is inside the hull, are dropped first. The x of another point determines a bin; if its
// height is within the bin's bounds, it is strictly inside (proof in geometry/sieve.h). NaN and infinity never are (for the
// same reason); sizes[NONFINITE] becomes 1 if there are any.
// No branch depends on one point, because a CPU mispredicts those. Where the first block of a stretch has many points
// outside the shape, the others do not try it, and find the bins of all their points.
// Reads each point once. EPYC 9004, 1e7 float64 points, ns a point and core: normal 0.60, in a square 0.65, in a disc 0.69,
// reading alone 0.65. With stretches of 1024 points or more 0.57, 0.88, 0.85.
#define INTEGERS ${int(real == "int")}
#define REAL ${real}
#define BINS ${bins}
#include "geometry/sieve.h"
#include "geometry/inner.h"
#define WG_SIZE ${wg_size}
#define BLOCK ${block}
#define STRETCH ${max(items_per_thread // block, 1) * block}
#define NONFINITE ${nonfinite}
#define MANY (BLOCK / 4)      // points outside the shape, of a block, for which bins are faster
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

% for shape in ("box", "ellipse"):
// The points of a block that are not in the ${shape}.
inline ulong outside_${shape}(global const real_t *block, const frame_t frame, const inner_t inner)
{
    const ${scaled} centre = ${pairs("inner.x", "inner.y", scaled)};
% if real == "int":
    const uint8 origin = as_uint8(${pairs("frame.left", "frame.low")});
% endif
% if shape == "box":
    const ${scaled} reach = ${pairs("inner.half_width", "inner.half_height", scaled)};
    const ${truth} magnitude = (${truth})(${"LONG_MAX" if real == "double" else "INT_MAX"});     // all bits but the sign
% else:
    const ${scaled} scale = ${pairs("inner.across", "inner.up", scaled)};
% endif
    ${truth} ${", ".join(f"out{part} = 0" for part in parts)};
#pragma unroll
    for (uint k = 0; k < 8; ++k) {
        const ${truth} bit = (${truth})((${long_t})1 << k);
% for part in parts:
        const ${vector} v${part} = LOAD(${len(parts)} * k + ${part}, block);
%     if real == "int":
        const float8 d${part} = convert_float8(as_uint8(v${part}) - origin) - centre;      // far to the right before the origin
%     else:
        const ${vector} d${part} = v${part} - centre;
%     endif
%     if shape == "box":
        const ${truth} in${part} = as_${scaled}(as_${truth}(d${part}) & magnitude) < reach;
%     else:
        const ${scaled} e${part} = d${part} * scale * (d${part} * scale);
        const ${truth} in${part} = e${part} + e${part}.s${"10325476"[:width]} < 1;
%     endif
        out${part} |= in${part} ? (${truth})(0) : bit;
% endfor
    }
% for part in parts:
    const uchar${points} bits${part} = convert_uchar${points}(out${part}.even | out${part}.odd);
% endfor
    return WORD((uchar8)(${joined("bits")}));
}

% endfor
inline ulong outside_inner(global const real_t *block, const frame_t frame, const inner_t inner)
{
    return inner.is_box ? outside_box(block, frame, inner) : outside_ellipse(block, frame, inner);
}

// The points of a block that are not within the bounds of their bins. NaN is in the first bin, which is empty.
inline ulong outside_bins(global const real_t *block, const frame_t frame, global const float2 *table)
{
    const ${vector} origin = ${pairs("frame.left", "frame.low")};
    const ${scaled} scale = ${pairs("frame.across", "frame.up", scaled)};
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

// Whether point `id` is not within the bounds of its bin.
inline uint is_outside(global const real_t *points, const frame_t frame, global const float2 *table, ulong id)
{
    const float2 bound = table[bin_of(frame, points[2 * id])];
    const float y = scaled(points[2 * id + 1], frame.low, frame.up);
    return !((y > bound.x) & (y < bound.y));
}

// Writes the ids of the points from `begin` to `end` that are kept to `waiting`; returns their number.
inline uint item_stay(global const real_t *points, ulong begin, ulong end, const frame_t frame, const inner_t inner,
                      global const float2 *table, uint *waiting)
{
    ulong words[STRETCH / BLOCK + 1];                  // blocks with points outside the shape, and where they begin
    uint starts[STRETCH / BLOCK + 1];
    uint used = 0, total = 0, count = 0;
    ulong i = begin;
    if (begin + BLOCK <= end && popcount(outside_inner(points + 2 * begin, frame, inner)) > MANY)
        for (; i + BLOCK <= end; i += BLOCK)
            count += item_list(outside_bins(points + 2 * i, frame, table), i, waiting + count);
    for (; i + BLOCK <= end; i += BLOCK) {
        const ulong out = outside_inner(points + 2 * i, frame, inner);
        words[used] = out;
        starts[used] = i;
        used += out != 0;
        total += popcount(out);
    }
    // One loop over the points of all words, without a branch that depends on them.
    for (uint k = 0, at = 0; k < total; ++k) {
        const ulong bits = words[at], rest = bits & (bits - 1);
        const uint id = starts[at] + POINT_OF[(bits & -bits) * SEQUENCE >> 58];
        waiting[count] = id;
        count += is_outside(points, frame, table, id);
        words[at] = rest;
        at += rest == 0;
    }
    for (; i < end; ++i) {
        waiting[count] = i;
        count += is_outside(points, frame, table, i);
    }
    return count;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void sieve(global const real_t *points, const ulong n, global const frame_t *frames, global const float2 *table,
           global uint *sizes, const uint room, global uint *list, const uint every, const uint is_rest)
{
    const frame_t frame = *frames;
    const inner_t inner = *(global const inner_t *)(frames + 1);
    const ulong stretches = (n + STRETCH - 1) / STRETCH, count = is_rest ? stretches : (stretches + every - 1) / every;
    const ulong share = (count + get_num_groups(0) - 1) / get_num_groups(0);
    uint waiting[STRETCH];
    for (ulong k = get_group_id(0) * share; k < min((get_group_id(0) + 1) * share, count); ++k) {
        if (is_rest && k % every == 0)
            continue;
        const ulong begin = (is_rest ? k : k * every) * STRETCH;
        const uint waits = item_stay(points, begin, min(begin + STRETCH, n), frame, inner, table, waiting);
        if (waits == 0)
            continue;
        const uint index = atomic_add(sizes, waits);
        for (uint i = 0; i < waits; ++i) {
#if !INTEGERS
            const ulong row = waiting[i];
            if (!(isfinite(points[2 * row]) && isfinite(points[2 * row + 1])))
                sizes[NONFINITE] = 1;
#endif
            if (index + i < room)
                list[index + i] = waiting[i];
        }
    }
}
