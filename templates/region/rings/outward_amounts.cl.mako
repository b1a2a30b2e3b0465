<%page args="by_area=True, limited=False, variant='group', wg_size=256, items_per_thread=1"/>\
// outward_amounts: what removals, in order, add (twice the area) or take away (vertices; none if the removal is not within
// the limit of the area), and 0 at the end.
#define BY_AREA ${int(by_area)}
#define LIMITED ${int(limited)}
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#define BY_POLYGON 0
#include "rings/items.h"
#include "rings/cut.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_amounts(global const uint *order, const uint n, global const uint4 *nodes, global const uchar *taken,
                     global ulong *amounts)
{
    const range_t items = items_of(n + 1);
    for (uint i = items.begin; i < items.end; i += items.stride) {
        ulong amount = 0;
        if (i < n) {
            const uint4 node = nodes[order[i]];
#if BY_AREA
            amount = node.KEY;
#elif LIMITED
            amount = taken[order[i]] & WITHIN ? (node.GONE_IN & LAST ? 3 : 1) : 0;
#else
            amount = node.GONE_IN & LAST ? 3 : 1;
#endif
        }
        amounts[i] = amount;
    }
}
