<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// outward_list: the removed corners in order, from the scan of outward_gone.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/each.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_list(global const uint *before, const uint n, global uint *removed)
{
    EACH(i, n)
        if (before[i + 1] != before[i])
            removed[before[i]] = i;
}
