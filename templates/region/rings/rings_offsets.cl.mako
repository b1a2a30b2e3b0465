<%page args="kept=False, variant='group', wg_size=256, items_per_thread=1"/>\
// rings_offsets: the first corner of each ring, for the caller; `first` corners are those of batches before.
//
//   sizes     the scan of the corners that are kept of each ring, with the number of rings kept in the upper word
#define KEPT ${int(kept)}
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
#if KEPT
void rings_offsets(global const ulong *sizes, const uint n, const ulong first, global long *offsets)
{
    const range_t items = items_of(n + 1);
    for (uint ring = items.begin; ring < items.end; ring += items.stride) {
        const uint number = sizes[ring] >> 32;
        if (ring == n || (uint)(sizes[ring + 1] >> 32) != number)
            offsets[number] = first + (uint)sizes[ring];
    }
}
#else
void rings_offsets(global const uint *begins, const uint n, const ulong first, global long *offsets)
{
    const range_t items = items_of(n + 1);
    for (uint ring = items.begin; ring < items.end; ring += items.stride)
        offsets[ring] = first + begins[ring];
}
#endif
