<%page args="flag=0, variant='group', wg_size=256, items_per_thread=1"/>\
// outward_settle: the removals that are made: those with the flag, all if it is 0. Marks the holes that vanish by them.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#define BY_POLYGON 0
#include "rings/each.h"
#include "rings/cut.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_settle(global const uint *mask_of, global const uint *ring_of, const uint n, const uint levels,
                    const uint level, global const uint *rounds, global const uint *areas, global uchar *taken,
                    global uchar *vanished)
{
    EACH(i, n)
        if (mask_of[i] % levels == level) {
            const int goes = rounds[i] > 0${f" && (taken[i] & {flag})" if flag else ""};
            taken[i] = goes;
            if (goes && (areas[i] & LAST))
                vanished[ring_of[i]] = 1;
        }
}
