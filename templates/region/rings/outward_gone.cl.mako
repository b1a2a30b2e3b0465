<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// outward_gone: 1 for each corner of a level that is removed, 0 for others and at the end.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/each.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_gone(global const uint *mask_of, const uint n, const uint levels, const uint level,
                  global const uint *rounds, global uint *gone)
{
    EACH(i, n + 1)
        gone[i] = i < n && mask_of[i] % levels == level && rounds[i] > 0;
}
