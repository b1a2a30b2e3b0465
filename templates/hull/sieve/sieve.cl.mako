<%page args="real='float', bins=2048, variant='group', wg_size=256, items_per_thread=16, wild=7"/>\
// sieve: the points that are not certainly inside, in one read of all.
//
//   points  | tile 0    | tile 1    | ..      a tile of ${wg_size * items_per_thread} points to a group; bounds in local memory
//   list    ids of the points left, appended tile by tile; sizes[0] counts all, also those for which there is no room
//
// A point's x names a bin; when its height is within the bin's bounds it is strictly inside (proof in geometry/sieve.h). NaN and
// infinity never are (for the same reason); sizes[WILD] becomes 1 when there are any.
// Reads each point once.
#define REAL ${real}
#define BINS ${bins}
#include "geometry/sieve.h"
#define WG_SIZE ${wg_size}
#define PAIRS ${max(items_per_thread // 2, 1)}
#define TILE (2 * PAIRS * WG_SIZE)
#define WILD ${wild}
#define MANY (TILE / 4)       // ids that are worth appending

% if variant == "group":
// Whether a point stays. NaN goes to the first bin, which is empty.
inline int stays(local const float2 *bounds, const frame_t frame, real_t px, real_t py)
{
    float x = scaled(px, frame.left, frame.across);
    const float y = scaled(py, frame.low, frame.up);
    x = x > 0 ? x : 0;
    x = x < BINS - 1 ? x : BINS - 1;
    const float2 bound = bounds[(uint)x];
    return !(y > bound.x && y < bound.y);
}
% endif

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void sieve(global const real_t *points, const ulong n, global const frame_t *frames, global const float2 *table,
           global uint *sizes, const uint room, global uint *list)
{
    const frame_t frame = *frames;
% if variant == "group":
    local float2 bounds[BINS];
    local uint waiting[TILE + MANY];         // ids to append
    local uint waits, place;
    const uint lid = get_local_id(0);
    for (uint b = lid; b < BINS; b += WG_SIZE)
        bounds[b] = table[b];
    if (lid == 0)
        waits = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const ulong tiles = (n + TILE - 1) / TILE;
    for (ulong tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        const ulong begin = tile * TILE;
        global const ${real} *const row = points + begin * 2;
        uint left = 0;
        if (begin + TILE <= n) {
            ${real}4 two[PAIRS];
#pragma unroll
            for (uint k = 0; k < PAIRS; ++k)
                two[k] = CLGEOM_LOAD4(${real}, row, k * WG_SIZE + lid);
#pragma unroll
            for (uint k = 0; k < PAIRS; ++k)
                left |= (uint)(stays(bounds, frame, two[k].x, two[k].y) | stays(bounds, frame, two[k].z, two[k].w) << 1) << (2 * k);
        } else {
            for (uint b = 0; b < 2 * PAIRS; ++b) {
                const uint i = 2 * (b / 2 * WG_SIZE + lid) + b % 2;
                if (begin + i < n)
                    left |= (uint)stays(bounds, frame, row[2 * i], row[2 * i + 1]) << b;
            }
        }
        if (left) {
            uint at = atomic_add(&waits, popcount(left));
            int wild = 0;
            while (left) {
                const uint bit = left & -left;
                const uint b = popcount(bit - 1), i = 2 * (b / 2 * WG_SIZE + lid) + b % 2;
                left ^= bit;
                waiting[at++] = begin + i;
% if real != "int":
                wild |= !(isfinite(row[2 * i]) && isfinite(row[2 * i + 1]));
% endif
            }
            if (wild)
                sizes[WILD] = 1;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint count = waits;
        if (count > MANY || (count && tile + get_num_groups(0) >= tiles)) {        // the same for all
            if (lid == 0)
                place = atomic_add(sizes, count);
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint k = lid; k < count; k += WG_SIZE)
                if (place + k < room)
                    list[place + k] = waiting[k];
            if (lid == 0)
                waits = 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
% else:
<%
    vec = 4 if real == "double" else 8
%>\
    // A stretch of points at a time: those in the box go at once, the others by their bins.
    const ulong share = (n + get_num_groups(0) - 1) / get_num_groups(0);
    const ulong first = min(get_group_id(0) * share, n), end = min(first + share, n);
    const ${real}${vec} low = (${real}${vec})(${", ".join(["frame.box_left, frame.box_bottom"] * (vec // 2))});
    const ${real}${vec} high = (${real}${vec})(${", ".join(["frame.box_right, frame.box_top"] * (vec // 2))});
    uint waiting[TILE + ${vec}];
    for (ulong begin = first; begin < end; begin += TILE) {
        const ulong last = min(begin + TILE, end);
        uint waits = 0;
        ulong i = begin;
        for (; i + ${vec} <= last; i += ${vec}) {
            const ${real}${vec} v0 = vload${vec}(0, points + 2 * i), v1 = vload${vec}(0, points + 2 * i + ${vec});
            if (all((v0 > low) & (v0 < high) & (v1 > low) & (v1 < high)))
                continue;
            const ${real}${vec} px = (${real}${vec})(v0.even, v1.even), py = (${real}${vec})(v0.odd, v1.odd);
% if real == "int":
            const float8 dx = convert_float8(as_uint8(px) - (uint)frame.left) * frame.across;
            const float8 dy = convert_float8(as_uint8(py) - (uint)frame.low) * frame.up;
            float8 x = px < frame.left ? (float8)(-1) : dx;
            const float8 y = py < frame.low ? (float8)(-1) : dy;
% else:
            float${vec} x = convert_float${vec}((px - frame.left) * frame.across);
            const float${vec} y = convert_float${vec}((py - frame.low) * frame.up);
% endif
            x = x > 0 ? x : (float${vec})(0);
            x = x < BINS - 1 ? x : (float${vec})(BINS - 1);
            const int${vec} b = convert_int${vec}(x);
            const float${vec} under = (float${vec})(${", ".join(f"table[b.s{k}].x" for k in range(vec))});
            const float${vec} over = (float${vec})(${", ".join(f"table[b.s{k}].y" for k in range(vec))});
            const int${vec} inside = (y > under) & (y < over);
            if (all(inside))
                continue;
% for k in range(vec):
            waiting[waits] = i + ${k};
            waits += !inside.s${k};
% endfor
        }
        for (; i < last; ++i)                            // a few: they may stay
            waiting[waits++] = i;
        if (waits == 0)
            continue;
        const uint place = atomic_add(sizes, waits);
        for (uint k = 0; k < waits; ++k) {
% if real != "int":
            if (!(isfinite(points[2 * (ulong)waiting[k]]) && isfinite(points[2 * (ulong)waiting[k] + 1])))
                sizes[WILD] = 1;
% endif
            if (place + k < room)
                list[place + k] = waiting[k];
        }
    }
% endif
}
