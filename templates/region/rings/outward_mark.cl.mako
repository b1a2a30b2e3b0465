<%page args="kept=False, variant='group', wg_size=256, items_per_thread=1"/>\
// outward_mark: sets the bits of the corners of a level's rings in the bitmaps of their maps; see rings/triangle.h. With
// `kept` those of the corners that are left.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/each.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_mark(global const int *corners, global const uint *mask_of, const uint n, const uint levels,
                  const uint level, const uint words, const ulong stride,
% if kept:
                  global const uint *ring_of, global const uchar *taken, global const uchar *vanished,
% endif
                  volatile global uint *bitmaps)
{
    EACH(i, n) {
        const uint mask = mask_of[i];
        if (mask % levels == level${" && !taken[i] && !vanished[ring_of[i]]" if kept else ""}) {
            const int2 at = vload2(i, corners);
            atomic_or(&bitmaps[mask / levels * stride + (ulong)at.y * words + (at.x >> 5)], 1u << (at.x & 31));
        }
    }
}
