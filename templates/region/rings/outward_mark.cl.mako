<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// outward_mark: sets the bits of the corners of rings in the bitmaps of their masks; see rings/triangle.h.
#include "portable.h"
#define WG_SIZE ${wg_size}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_mark(global const int *corners, global const uint *masks, const uint n, const uint words,
                  const ulong stride, volatile global uint *bitmaps)
{
    for (uint i = get_global_id(0); i < n; i += get_global_size(0)) {
        const int2 at = vload2(i, corners);
        atomic_or(&bitmaps[masks[i] * stride + (ulong)at.y * words + (at.x >> 5)], 1u << (at.x & 31));
    }
}
