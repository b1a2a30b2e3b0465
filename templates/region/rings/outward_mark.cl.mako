<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// outward_mark: sets the bits of the corners of a level that are left in the bitmaps of their maps; see rings/triangle.h.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"
#include "rings/level.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_mark(global const int *corners, global const uint *before, global const ulong *facts, const uint maps,
                  const uint levels, const uint level, const uint words, const ulong stride,
                  global const uint *ring_of, global const uchar *taken, global const uchar *vanished,
                  volatile global uint *bitmaps)
{
    const level_t own = level_of(before, facts, maps, levels, level);
    const uint n = count_of(&own);
    uint map = 0;
    const range_t items = near_items_of(n);
    for (uint i = items.begin; i < items.end; i += items.stride) {
        const uint vertex = corner_of(&own, i, &map);
        if (!taken[vertex] && !vanished[ring_of[vertex]]) {
            const int2 at = vload2(vertex, corners);
            atomic_or(&bitmaps[map * stride + (ulong)at.y * words + (at.x >> 5)], 1u << (at.x & 31));
        }
    }
}
