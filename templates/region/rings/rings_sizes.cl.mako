<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// rings_sizes: the number of corners of each ring, in order; and POLYGON for outer rings, which begin with a left side.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"
#define POLYGON (1ul << 32)

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rings_sizes(global const uint *leaders, global const uint *firsts, global const ulong *before, const uint n,
                 global ulong *sizes)
{
    const range_t items = items_of(n + 1);
    for (uint ring = items.begin; ring < items.end; ring += items.stride) {
        const uint leader = leaders[min(ring, n - 1)];
        const uint size = (uint)(before[leader + 1] - before[leader]);
        sizes[ring] = ring == n ? 0 : size | (firsts[leader] & 1 ? 0 : POLYGON);
    }
}
