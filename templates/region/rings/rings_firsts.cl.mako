<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// rings_firsts: the first edge of each chain, ascending, from the scan of rings_chains.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rings_firsts(global const uint *chains, const uint n, global uint *firsts)
{
    const range_t items = items_of(n);
    for (uint edge = items.begin; edge < items.end; edge += items.stride)
        if (chains[edge + 1] != chains[edge])
            firsts[chains[edge]] = edge;
}
