<%page args="real='float', variant='group', wg_size=256, items_per_thread=8"/>\
// arc_place: gathers the vertices that arc_outline_local staged; ${max(wg_size // items_per_thread, 1)} work-items to a tile.
//
//   staged    | lower and upper vertices of tile 0 .. | of tile 1 .. | ..     from twice where its candidates begin
//   vertices  | lower vertices .. | upper vertices ..        |                (x, y)
//   summary   [ 0, lower vertices | first upper one, all vertices | all vertices, and segments that are not empty | flag ]
//             in the beginning of the same memory: vertices start at number `head`
//
// Vertices from number `room` on are left out. Reads and writes each vertex once.
#define REAL ${real}
#include "geometry/points.h"
#include "arc/arc_cut.h"
#define WG_SIZE ${wg_size}
#include "group/reduce.h"
#define TILES ${min(items_per_thread, wg_size)}                   // of a group
#define ROW (WG_SIZE / TILES)                      // work-items to a tile

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_place(global const point_t *staged, const uint m, const uint segments, const uint own, const uint tiles,
               global const uint *counts, global const uint *offsets, global const uint *sums, const uint chunk,
               const uint chunks, global const uint *flag, global point_t *vertices, const uint head, const uint room,
               global uint *summary)
{
    // Of all chunks: lower and upper vertices, segments; of those before the group's, which is one: lower and upper vertices.
    local uint8 parts[WG_SIZE];
    const uint lid = get_local_id(0), first = get_group_id(0) * TILES, mine = first / chunk;
    uint8 part = 0;
    for (uint c = lid; c < chunks; c += WG_SIZE) {
        const uint low = sums[c], high = sums[chunks + c], full = sums[2 * chunks + c];
        part += (uint8)(low, high, full, c < mine ? low : 0, c < mine ? high : 0, 0, 0, 0);
    }
    parts[lid] = part;
    GROUP_REDUCE(lid, other, parts[lid] += parts[other]);
    const uint8 all = parts[0];
    if (get_global_id(0) == 0) {
        summary[0] = 0;
        summary[1] = summary[2] = all.s0;
        summary[3] = summary[4] = all.s0 + all.s1;
        summary[5] = all.s0 + all.s1 + all.s2;
        summary[6] = flag[0];
    }
    const uint tile = first + lid / ROW;
    if (tile < tiles) {
        const size_t from = 2 * (size_t)arc_nominal(0, m, segments, tile * own), high = (size_t)tiles + tile;
        const uint lower = counts[tile], count = lower + counts[high];
        const uint low_at = all.s3 + offsets[tile], high_at = all.s0 + all.s4 + offsets[high] - lower;
        for (uint k = lid % ROW; k < count; k += ROW) {
            const uint at = k + (k < lower ? low_at : high_at);
            if (at < room)
                vertices[head + at] = staged[from + k];
        }
    }
}
