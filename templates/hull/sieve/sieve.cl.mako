<%page args="real='float', bins=2048, variant='group', wg_size=256, items_per_thread=16, nonfinite=7"/>\
// sieve: the points that are not certainly inside the hull, in one pass.
//
//   points  | tile 0    | tile 1    | ..      a tile of ${wg_size * items_per_thread} points to a group; bounds in local memory
//   list    ids of the kept points, appended tile by tile; sizes[0] counts all, also those beyond the list's capacity
//
// A point's x determines a bin; if its height is within the bin's bounds, it is strictly inside (proof in
// geometry/sieve.h). NaN and infinity never are (for the same reason); sizes[NONFINITE] becomes 1 if there are any.
// Reads each point once.
#define INTEGERS ${int(real == "int")}
#define REAL ${real}
#define BINS ${bins}
#include "geometry/sieve.h"
#define WG_SIZE ${wg_size}
#define PAIRS ${max(items_per_thread // 2, 1)}
#define TILE (2 * PAIRS * WG_SIZE)
#define NONFINITE ${nonfinite}
#define MANY (TILE / 4)       // ids that are appended at a time
#define POINT_OF(lid, b) (2 * ((b) / 2 * WG_SIZE + (lid)) + (b) % 2)      // the point of bit b in the tile

// Whether a point stays.
inline int stays(local const float2 *bounds, const frame_t frame, real_t px, real_t py)
{
    const float2 bound = bounds[bin_of(frame, px)];
    const float y = scaled(py, frame.low, frame.up);
    return !(y > bound.x && y < bound.y);
}

// A bit for each point of this work-item that is kept; the tile has `count` points or more.
inline uint item_stays(local const float2 *bounds, const frame_t frame, global const real_t *tile, ulong count, uint lid)
{
    uint left = 0;
    if (count >= TILE) {
        ${real}4 two[PAIRS];
#pragma unroll
        for (uint k = 0; k < PAIRS; ++k)
            two[k] = CLGEOM_LOAD4(${real}, tile, k * WG_SIZE + lid);
#pragma unroll
        for (uint k = 0; k < PAIRS; ++k) {
            const uint first = stays(bounds, frame, two[k].x, two[k].y), second = stays(bounds, frame, two[k].z, two[k].w);
            left |= (first | second << 1) << (2 * k);
        }
    } else {
        for (uint b = 0; b < 2 * PAIRS; ++b) {
            const uint i = POINT_OF(lid, b);
            if (i < count)
                left |= (uint)stays(bounds, frame, tile[2 * i], tile[2 * i + 1]) << b;
        }
    }
    return left;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void sieve(global const real_t *points, const ulong n, global const frame_t *frames, global const float2 *table,
           global uint *sizes, const uint room, global uint *list)
{
    const frame_t frame = *frames;
    local float2 bounds[BINS];
    local uint waiting[TILE + MANY];         // ids to append
    local uint waits, index;
    const uint lid = get_local_id(0);
    for (uint b = lid; b < BINS; b += WG_SIZE)
        bounds[b] = table[b];
    if (lid == 0)
        waits = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const ulong tiles = (n + TILE - 1) / TILE;
    for (ulong number = get_group_id(0); number < tiles; number += get_num_groups(0)) {
        const ulong begin = number * TILE;
        global const real_t *const tile = points + begin * 2;
        uint left = item_stays(bounds, frame, tile, n - begin, lid);
        if (left) {
            uint at = atomic_add(&waits, popcount(left));
            int nonfinite = 0;
            while (left) {
                const uint bit = left & -left, i = POINT_OF(lid, popcount(bit - 1));
                left ^= bit;
                waiting[at++] = begin + i;
#if !INTEGERS
                nonfinite |= !(isfinite(tile[2 * i]) && isfinite(tile[2 * i + 1]));
#endif
            }
            if (nonfinite)
                sizes[NONFINITE] = 1;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint count = waits;
        if (count > MANY || (count && number + get_num_groups(0) >= tiles)) {      // the same for all
            if (lid == 0)
                index = atomic_add(sizes, count);
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint k = lid; k < count; k += WG_SIZE)
                if (index + k < room)
                    list[index + k] = waiting[k];
            if (lid == 0)
                waits = 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
