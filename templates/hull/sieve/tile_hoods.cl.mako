<%page args="real='float', filtered=True, keep_collinear=False, picked=True, variant='group', wg_size=512, items_per_thread=4, run=32, most=4, header=4, kept=0, nonfinite=7"/>\
// tile_hoods: the lower and the upper hood of ${f"two lists of at most {most * wg_size * items_per_thread}" if picked else f"at most {wg_size * items_per_thread}"} points, in any order.
//
//   points   ${"two lists of rows, lower and upper, or one for both hoods" if picked else "all, for both hoods"}
//            work-group 0 makes the lower hood, work-group 1 the upper one, in local memory:
//            indices sorted by x, y, id: runs of ${run} by counting, then merged two by two; points beyond a chord of others
//            are dropped; hoods of strips are merged two by two${"; then the corners and more of the list, until it ends" if picked else ""}
//   hull     records (x, y, id): counts in the first ${header}, then corners from left to right, lower and upper by turns
//
// Counts are 0 if there are too many points or corners, or if a point is NaN or infinite, in which case the third number
// is set: NaN has no place in the order. The fourth number is that of the points that the sieve kept. Reads each point once${", and corners again with the rest of the list" if picked else ""}. Cost: O(n log^2 n) comparisons in local memory.
<%
    tile = wg_size * items_per_thread
    hood_items = min(wg_size, 1 << (max(tile // 4, 1).bit_length() - 1))     # a power of two; strips of 4 points or more
%>\
#define PICKED ${int(picked)}
#define INTEGERS ${int(real == "int")}
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP_COLLINEAR ${int(keep_collinear)}
#include "hood/hood.h"
#define WG_SIZE ${wg_size}
#include "group/scan.h"
#define ITEMS ${items_per_thread}
#define TILE (WG_SIZE * ITEMS)
#define RUN ${run}
#define ROOM ${max(2 * wg_size, tile)}             // also for other uses of the indices' memory
#define FEW 32
#define STRIP ${tile // hood_items}
#define HOOD_ITEMS ${hood_items}
#define NONFINITE ${nonfinite}
#define HEADER ${header}
#define SORTED(i) sorted[i]
#include "hood/hood_group.h"
typedef struct { real_t x, y; uint id; } vertex_t;

// The source of the points of a tile: ${"corners that were found before, then the list from `first` on" if picked else "all, in their order"}.
#if PICKED
typedef struct { global vertex_t *hull; uint side; global const uint *ids; uint first, kept; } source_t;
#else
typedef struct { global vertex_t *hull; uint side; } source_t;
#endif
#define RECORD(source, k) (source)->hull[HEADER + 2 * (k) + (source)->side]

inline uint id_of(const source_t *source, uint k)
{
#if PICKED
    return k < source->kept ? RECORD(source, k).id : source->ids[source->first + k - source->kept];
#else
    return k;
#endif
}

#include "hood/tile_sort.h"

// Returns whether a point of this work-item's is NaN or infinite.
inline int load_points(global const real_t *points, const tile_t *tile, const source_t *source, uint count, uint lid)
{
    int nonfinite = 0;
    for (uint i = lid; i < count; i += WG_SIZE) {
        const point_t p = CLGEOM_POINT(points, (size_t)id_of(source, i));
        tile->x[i] = p.x;
        tile->y[i] = p.y;
#if !INTEGERS
        nonfinite |= !(isfinite(p.x) && isfinite(p.y));
#endif
    }
    return nonfinite;
}

GROUP_SCAN(group_scan_counts, local, ushort, GROUP_SUM)

// Drops points beyond a chord of points on either side, which are not corners; returns the number of the others. `counts`
// has two entries for each work-item.
inline uint thin_out(tile_t *tile, uint count, local ushort *counts, uint lid, uint side)
{
#define POINT(i) ((point_t)(tile->x[tile->sorted[i]], tile->y[tile->sorted[i]]))
    uint stays = 0;
    for (uint k = 0; k < ITEMS; ++k) {
        const uint i = lid * ITEMS + k;
        int beyond = i >= count;
        for (uint apart = 1; apart <= i && i + apart < count && !beyond; apart *= 4)
            beyond = hood_turn(side, POINT(i - apart), POINT(i + apart), POINT(i)) > 0;
        stays |= (uint)!beyond << k;
    }
    counts[lid] = popcount(stays);
    local const ushort *const ends = counts + group_scan_counts(counts, WG_SIZE, lid);
    const uint rest = ends[WG_SIZE - 1];
    uint end = ends[lid] - popcount(stays);
    for (uint k = 0; k < ITEMS; ++k)
        if (stays >> k & 1)
            tile->to[end++] = tile->sorted[lid * ITEMS + k];
    swap_orders(tile);
    barrier(CLK_LOCAL_MEM_FENCE);
    return rest;
}

// Writes the records of the hood of the loaded points, and returns their number.
inline uint hood_of_tile(tile_t tile, const source_t *source, uint count, local ushort *merging, uint lid)
{
    rank_runs(&tile, source, count, lid);
    merge_runs(&tile, source, count, lid);
    uint rest = count, before;
    do {                                     // again as long as that drops many points
        before = rest;
        rest = thin_out(&tile, before, merging, lid, source->side);
    } while ((rest > FEW) & (rest < before / 4 * 3));

    const merge_t merge = {merging + 2 * WG_SIZE, merging, merging + WG_SIZE, tile.sorted, tile.sorted + WG_SIZE};
    const uint found = group_hood(tile.x, tile.y, tile.sorted, rest, tile.to, merge, lid, source->side);
    vertex_t mine[ITEMS];                    // ids of corners found before are read where these are written
#pragma unroll
    for (uint k = 0; k < ITEMS; ++k)
        if (k * WG_SIZE + lid < found) {
            const uint at = tile.to[k * WG_SIZE + lid];
            mine[k].x = tile.x[at];
            mine[k].y = tile.y[at];
            mine[k].id = id_of(source, at);
        }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
#pragma unroll
    for (uint k = 0; k < ITEMS; ++k)
        if (k * WG_SIZE + lid < found)
            RECORD(source, k * WG_SIZE + lid) = mine[k];
    return found;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
#if PICKED
void tile_hoods(global const real_t *points, global const uint *lower, global const uint *upper, const uint lower_slot,
                const uint upper_slot, global const uint *sizes, global vertex_t *hull)
#else
void tile_hoods(global const real_t *points, const uint n, global vertex_t *hull)
#endif
{
    local real_t x[TILE], y[TILE];
    local ushort indices[ROOM], others[ROOM], merging[3 * WG_SIZE];
    const uint lid = get_local_id(0), side = get_group_id(0);
    const tile_t tile = {x, y, indices, others};
#if PICKED
    const uint nonfinite = sizes[NONFINITE], listed = sizes[side ? upper_slot : lower_slot];
    const uint total = nonfinite || listed > ${most} * TILE ? 0 : listed;
    source_t source = {hull, side, side ? upper : lower, 0, 0};
    uint found;
    do {
        const uint count = min(source.kept + total - source.first, (uint)TILE);
        load_points(points, &tile, &source, count, lid);
        barrier(CLK_LOCAL_MEM_FENCE);
        found = hood_of_tile(tile, &source, count, merging, lid);
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        source.first += count - source.kept;
        source.kept = found;
    } while ((source.first < total) & (found <= TILE / 2));
    found = source.first < total ? 0 : found;
#else
    local uint nonfinite;
    if (lid == 0)
        nonfinite = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const source_t source = {hull, side};
    const uint count = n > TILE ? 0 : n;
    if (load_points(points, &tile, &source, count, lid))
        nonfinite = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint found = hood_of_tile(tile, &source, nonfinite ? 0 : count, merging, lid);
#endif
    if (lid == 0) {
        hull[side].id = found;
        if (side == 0) {
            hull[2].id = nonfinite;
            hull[3].id = ${"sizes[%d]" % kept if picked else "n"};
        }
    }
}
