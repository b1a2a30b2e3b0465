<%page args="real='float', filtered=True, keep_collinear=False, bins=2048, variant='serial', wg_size=1, items_per_thread=2048, header=4, kept=0, nonfinite=7, probes=64"/>\
// tile_hull: the convex hull of every tile of points in any order, by one work-item; `result` selects the output.
//
//   ids     | 7 1 9 .. | 4 0 .. | ..       rows of points, or every stride-th row if stride is not 0; a tile of at most
//             ${items_per_thread} points in a box in the hull are dropped; sort by x, y, id; lower hood, upper hood
//   LIST      ids of the vertices, appended to another list: hulls of hulls until one tile is left
//   HULL      records (x, y, id) of a list that is one tile: counts in the first ${header}, then the corners of the hoods from
//             left to right, lower and upper by turns
//   BOUNDS    frame and bounds between which points are inside the hull of one tile, for sieve
//
// sizes[] holds the lengths of lists, which the host does not read. A list longer than its capacity counts as empty.
// sizes[NONFINITE] becomes 1 if a point is NaN or infinite. HULL of rows of points, not of a list, does not use sizes.
// Reads each point once, writes the vertices. Cost: the sort by merging, O(n log n) in local memory.
// One kernel for all results, since a compiler takes longer for the hoods than they do.
#define INTEGERS ${int(real == "int")}
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP_COLLINEAR ${int(keep_collinear)}
#include "hood/hood.h"
#define WG_SIZE ${wg_size}
#define TILE ${items_per_thread}
#define PLACES ${max((items_per_thread - 1).bit_length(), 1)}
#define NONFINITE ${nonfinite}
#define HEADER ${header}
#define LIST 0      // in the order of RESULTS in clgeom/hull/sieve/launches.py
#define HULL 1
#define BOUNDS 2

// Point k of a tile is row ids[begin + k * step], or (begin + k * step) * stride.
typedef struct { local real_t *x, *y; local uint *order; local ushort *hoods; global const uint *ids; uint stride, begin, step; } tile_t;

inline uint tile_id(const tile_t tile, uint k)
{
    const uint at = tile.begin + k * tile.step;
    return tile.stride ? at * tile.stride : tile.ids[at];
}
#define TILE_ID(t, k) tile_id(t, k)
#include "hood/hood_tile.h"
#define BINS ${bins}
#define PROBES ${probes}
#include "geometry/sieve.h"
#include "geometry/inner.h"
#include "hood/tile_bounds.h"
typedef struct { real_t x, y; uint id; } vertex_t;

// Loads a tile and makes both hoods; returns the number of their corners, and whether a point is NaN or infinite.
inline uint3 item_hoods(global const real_t *points, const tile_t tile, uint count)
{
    // Loads only, so that many are under way at a time: points of a list are far apart in memory.
    if (tile.stride)
        for (uint i = 0; i < count; ++i) {
            const size_t row = (tile.begin + i * tile.step) * tile.stride;
            tile.x[i] = points[2 * row];
            tile.y[i] = points[2 * row + 1];
        }
    else
        for (uint i = 0; i < count; ++i) {
            const size_t row = tile.ids[tile.begin + i * tile.step];
            tile.x[i] = points[2 * row];
            tile.y[i] = points[2 * row + 1];
        }
    uint nonfinite = 0;
#if !INTEGERS
    for (uint i = 0; i < count; ++i)
        nonfinite |= !(tile.x[i] - tile.x[i] == 0) | !(tile.y[i] - tile.y[i] == 0);
#endif
    const uint rest = item_unboxed(tile, count);
    item_sort(tile, rest);
    const uint lower = item_hood(tile, rest, 0);
    return (uint3)(lower, item_hood(tile, rest, 1), nonfinite);
}

// LIST writes sizes[out] and up to `room` ids to `found`, HULL writes records to `found`, BOUNDS writes the frame to `found`
// and the bounds to `bounds`. Memory that a launch does not use may be any.
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void tile_hull(global const real_t *points, global const uint *ids, const uint stride, const uint in, const uint capacity,
               global uint *sizes, const uint result, const uint out, const uint room, global float2 *bounds,
               global uint *found)
{
    local real_t x[TILE], y[TILE];
    local uint order[TILE], keys[TILE];
    local ushort *const hoods = (local ushort *)keys;
    const uint total = stride ? capacity : sizes[in] > capacity ? 0 : sizes[in];
    if (result == LIST && !stride && total <= TILE) {   // one tile is left: its hull is another launch's
        if (get_group_id(0) == 0) {
            for (uint i = 0; i < total; ++i)
                found[i] = ids[i];
            sizes[out] = total;
        }
        return;
    }
    uint tiles = 1, share = total, step = 1;
    if (result == LIST) {
        tiles = (total + TILE - 1) / TILE;
        share = tiles ? (total + tiles - 1) / tiles : 0;
    } else if (result == BOUNDS) {
        step = (total + TILE - 1) / TILE;               // of more than a tile some
        share = step ? total / step : 0;
    } else if (total > TILE)
        share = 0;
    for (uint number = get_group_id(0); number < tiles; number += get_num_groups(0)) {
        const tile_t tile = {x, y, order, hoods, ids, stride, min(number * share, total), step};
        const uint3 corners = item_hoods(points, tile, min(share, total - tile.begin));
        if (corners.z && !(result == HULL && stride))
            sizes[NONFINITE] = 1;
        if (result == LIST) {
            // the hoods share their ends
            const uint count = corners.x + (corners.y > 2 ? corners.y - 2 : 0), index = atomic_add(&sizes[out], count);
            for (uint k = 0; k < count; ++k)
                if (index + k < room)
                    found[index + k] = TILE_ID(tile, hoods[k < corners.x ? k : TILE + k - corners.x + 1]);
        } else if (result == HULL) {
            global vertex_t *hull = (global vertex_t *)found;
            for (uint k = 0; k < corners.x + corners.y; ++k) {
                const uint side = k >= corners.x, at = side ? k - corners.x : k, index = hoods[side * TILE + at];
                const vertex_t vertex = {x[index], y[index], TILE_ID(tile, index)};
                hull[HEADER + 2 * at + side] = vertex;
            }
            hull[0].id = corners.x;
            hull[1].id = corners.y;
            hull[2].id = stride ? corners.z : sizes[NONFINITE];
            hull[3].id = stride ? total : sizes[${kept}];     // that the sieve kept
        } else
            item_bounds(tile, corners.x, corners.y, points, room, (global frame_t *)found, bounds);
    }
}
