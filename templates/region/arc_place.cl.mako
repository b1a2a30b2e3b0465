<%page args="real='float', variant='group', wg_size=128, items_per_thread=8"/>\
// arc_place: the vertices that arc_outline_local staged, side by side; a work-group to ${items_per_thread} tiles.
//
//   staged    | lower vertices of tile 0 ..     | of tile 1 ..    | ..     where the tile's candidates begin
//   vertices  | lower vertices .. | upper vertices ..        |             (x, y)
//   summary   [ 0, lower vertices | first upper one, all vertices | all vertices, and segments that are not empty | flag ]
//             in the beginning of the same memory: vertices start at number `head`
//
// Vertices from number `room` on are left out. Reads and writes each vertex once.
#include "portable.h"
typedef ${real} real_t;
#define WG_SIZE ${wg_size}
#define TILES ${items_per_thread}
#include "arc_before.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void arc_place(global const real_t *staged, const uint m, const uint tiles, global const uint *counts,
               global const uint *offsets, global const uint *sums, const uint chunk,
               const uint chunks, global const uint *flag, global real_t *vertices, const uint head, const uint room,
               global uint *summary)
{
    local uint values[WG_SIZE], parts[ARC_CHUNKS];
    const uint lid = get_local_id(0), first = get_group_id(0) * TILES, mine = first / chunk;
    uint low = 0, high = 0, full = 0, low_before = 0, high_before = 0;      // a group's tiles are of one chunk
    for (uint c = lid; c < chunks; c += WG_SIZE) {
        const uint lower = sums[c], upper = sums[chunks + c];
        low += lower;
        high += upper;
        full += sums[2 * chunks + c];
        low_before += c < mine ? lower : 0;
        high_before += c < mine ? upper : 0;
    }
    uint all_low, all_high, all_full, low_at, high_at;
% for own, sum in (("low", "all_low"), ("high", "all_high"), ("full", "all_full"), ("low_before", "low_at"), ("high_before", "high_at")):
    group_before(${own}, lid, values, parts, &${sum});
    barrier(CLK_LOCAL_MEM_FENCE);
% endfor
    if (get_global_id(0) == 0) {
        summary[0] = 0;
        summary[1] = summary[2] = all_low;
        summary[3] = summary[4] = all_low + all_high;
        summary[5] = all_low + all_high + all_full;
        summary[6] = flag[0];
    }
    for (uint tile = first; tile < min(first + TILES, tiles); ++tile) {
        const uint begin = counts[3 * (size_t)tiles + tile];
        for (uint side = 0; side < 2; ++side) {
            const size_t which = (size_t)side * tiles + tile, from = (size_t)side * m + begin;
            const uint count = counts[which], at = (side ? all_low + high_at : low_at) + offsets[which];
            for (uint k = lid; k < count; k += WG_SIZE)
                if (at + k < room)
                    vstore2(CLGEOM_LOAD2(${real}, staged, from + k), head + at + k, vertices);
        }
    }
}
