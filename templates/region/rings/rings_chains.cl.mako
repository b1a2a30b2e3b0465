<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// rings_chains: 1 for each edge that begins a chain, 0 for others and at the end; see rings/chains.h.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/chains.h"
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rings_chains(global const uchar *turns, const uint n, global uint *chains)
{
    const range_t items = items_of(n + 1);
    for (uint edge = items.begin; edge < items.end; edge += items.stride) {
        const int beside = edge & 1 && edge + 1 < n && turns[edge + 1] & FIRST_NEXT;
        chains[edge] = edge < n && (turns[edge] & FIRST || beside);
    }
}
