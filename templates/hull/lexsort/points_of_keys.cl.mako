<%page args="floating=1, variant='group', wg_size=256, items_per_thread=1"/>\
// points_of_keys: the points of the keys that point_keys wrote, with +0.0 for -0.0; 32-bit coordinates.
//
// Each work-item reads a key and writes a point.
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "portable.h"
#define CLGEOM_KEY_BITS 32
#define CLGEOM_KEY_FLOAT ${floating}
#include "keys/key_order.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void points_of_keys(global const ulong *keys, const uint n, const uint flip, global uint *points)
{
    const uint share = (n + get_global_size(0) - 1) / get_global_size(0);
#if CLGEOM_SERIAL
    const uint first = min(get_global_id(0) * share, (size_t)n), end = first + min(share, n - first), stride = 1;
#else
    const uint first = get_global_id(0), end = n, stride = get_global_size(0);
#endif
    for (uint i = first; i < end; i += stride) {
        const ulong key = keys[i];
        vstore2((uint2)(key_of_digits((uint)(key >> 32), flip), key_of_digits((uint)key, flip)), i, points);
    }
}
