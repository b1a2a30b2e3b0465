<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// classes_leaders: 1 for the first run of each face, 0 for other runs, those without data, and at the end.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "classes/lines.h"
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_leaders(global const uint *roots, global const uint2 *begins, global const uint *valid, const uint n,
                     const uint words, global uint *leads)
{
    const range_t items = items_of(n + 1);
    for (uint run = items.begin; run < items.end; run += items.stride) {
        uint leader = 0;
        if (run < n && roots[run] == run) {
            const uint2 begin = begins[run];
            leader = valid[begin.y * words + begin.x / 32] >> begin.x % 32 & 1;
        }
        leads[run] = leader;
    }
}
