<%page args="real='float', filtered=True, keep_collinear=False, picked=True, result='list', bins=2048, variant='serial', wg_size=1, items_per_thread=2048, header=4, nonfinite=7"/>\
// tile_hull: the convex hull of every tile of points in any order, by one work-item; `result` selects the output.
//
//   ids     | 7 1 9 .. | 4 0 .. | ..       ${"rows of points" if picked else "here every stride-th row of points"}; a tile of at most ${items_per_thread}
//             points in a box in the hull are dropped; sort by x, y, id; lower hood, upper hood
//   list      ids of the vertices, appended to another list: hulls of hulls until one tile is left
//   hull      records (x, y, id) of a list that is one tile: counts in the first ${header}, then the corners of the hoods from
//             left to right, lower and upper by turns
//   bounds    bounds between which points are inside the hull of one tile, for sieve
//
// sizes[] holds the lengths of lists, which the host does not read. A list longer than its capacity counts as empty.
// sizes[NONFINITE] becomes 1 if a point is NaN or infinite.
// Reads each point once, writes the vertices. Cost: the sort by merging, O(n log n) in local memory.
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP_COLLINEAR ${int(keep_collinear)}
#include "hood/hood.h"
#define WG_SIZE ${wg_size}
#define TILE ${items_per_thread}
#define NONFINITE ${nonfinite}
#define HEADER ${header}

// Point k of a tile is row \
% if picked:
ids[begin + k * step]
typedef struct { local real_t *x, *y; local ushort *order, *hoods; global const uint *ids; uint begin, step; } tile_t;
#define TILE_ID(t, k) (t).ids[(t).begin + (k) * (t).step]
% else:
(begin + k) * step
typedef struct { local real_t *x, *y; local ushort *order, *hoods; ulong begin, step; } tile_t;
#define TILE_ID(t, k) ((uint)(((t).begin + (k)) * (t).step))
% endif
#include "hood/hood_tile.h"
% if result == "bounds":
#define BINS ${bins}
#include "geometry/sieve.h"
#include "hood/tile_bounds.h"
% elif result == "hull":
typedef struct { real_t x, y; uint id; } vertex_t;
% endif

// Loads a tile and makes both hoods; returns the number of their corners.
inline uint2 item_hoods(global const real_t *points, const tile_t tile, uint count, global uint *sizes)
{
    int nonfinite = 0;
    for (uint i = 0; i < count; ++i) {
        const point_t p = CLGEOM_POINT(points, (size_t)TILE_ID(tile, i));
        tile.x[i] = p.x;
        tile.y[i] = p.y;
% if real != "int":
        nonfinite |= !(isfinite(p.x) && isfinite(p.y));
% endif
    }
    if (nonfinite)
        sizes[NONFINITE] = 1;
    const uint rest = item_unboxed(tile, count);
    item_sort(tile, rest);
    const uint lower = item_hood(tile, rest, 0);
    return (uint2)(lower, item_hood(tile, rest, 1));
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
% if picked:
void tile_hull(global const real_t *points, global const uint *ids, const uint in, const uint capacity,
% else:
void tile_hull(global const real_t *points, const ulong stride, const uint samples,
% endif
               global uint *sizes,
% if result == "list":
               const uint out, const uint room, global uint *list)
% elif result == "hull":
               global vertex_t *hull)
% else:
               global frame_t *frame, global float2 *bounds)
% endif
{
    local real_t x[TILE], y[TILE];
    local ushort order[TILE], hoods[2 * TILE];
% if picked:
    const uint total = sizes[in] > capacity ? 0 : sizes[in];
    tile_t tile = {x, y, order, hoods, ids, 0, 1};
% else:
    const uint total = samples;
    tile_t tile = {x, y, order, hoods, 0, stride};
% endif
% if result == "list":
% if picked:
    if (total <= TILE) {                                // one tile is left: its hull is another launch's
        if (get_group_id(0) == 0) {
            for (uint i = 0; i < total; ++i)
                list[i] = ids[i];
            sizes[out] = total;
        }
        return;
    }
% endif
    const uint tiles = (total + TILE - 1) / TILE, share = tiles ? (total + tiles - 1) / tiles : 0;
    for (uint number = get_group_id(0); number < tiles; number += get_num_groups(0)) {
        tile.begin = min(number * share, total);
        const uint2 corners = item_hoods(points, tile, min(share, total - (uint)tile.begin), sizes);
        // the hoods share their ends
        const uint found = corners.x + (corners.y > 2 ? corners.y - 2 : 0), index = atomic_add(&sizes[out], found);
        for (uint k = 0; k < found; ++k)
            if (index + k < room)
                list[index + k] = TILE_ID(tile, hoods[k < corners.x ? k : TILE + k - corners.x + 1]);
    }
% elif result == "hull":
    const uint2 corners = item_hoods(points, tile, total > TILE ? 0 : total, sizes);
    for (uint k = 0; k < corners.x + corners.y; ++k) {
        const uint side = k >= corners.x, at = side ? k - corners.x : k, index = hoods[side * TILE + at];
        const vertex_t vertex = {x[index], y[index], TILE_ID(tile, index)};
        hull[HEADER + 2 * at + side] = vertex;
    }
    hull[0].id = corners.x;
    hull[1].id = corners.y;
    hull[2].id = sizes[NONFINITE];
% else:
    tile.step = (total + TILE - 1) / TILE;              // of more than a tile some
    const uint2 corners = item_hoods(points, tile, tile.step ? total / tile.step : 0, sizes);
    item_bounds(tile, corners.x, corners.y, frame, bounds);
% endif
}
