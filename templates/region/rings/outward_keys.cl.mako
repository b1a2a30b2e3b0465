<%page args="by_polygon=False, variant='group', wg_size=256, items_per_thread=1"/>\
// outward_keys: 32 bits of the keys by which removals are sorted, from bit `shift` on.
//
//   | owner .. | round, `round_bits` | area, `area_bits` |      see rings/cut.h; from bit OWNERS on: the owner
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#define BY_POLYGON ${int(by_polygon)}
#include "rings/items.h"
#include "rings/cut.h"
#define OWNERS 64

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_keys(global const uint *mask_of, const uint levels, global const uint *ring_of, global const uint *firsts,
                  const uint polygons, global const uint *removed, const uint n,
                  global const uint4 *nodes, const uint round_bits, const uint area_bits, const uint shift,
                  global uint *keys)
{
    const range_t items = items_of(n);
    for (uint i = items.begin; i < items.end; i += items.stride) {
        const uint vertex = removed[i];
        const uint4 node = nodes[vertex];
        const ulong key = (((ulong)OWNER(vertex) << round_bits) | (node.GONE_IN & ~LAST)) << area_bits;
        keys[i] = shift == OWNERS ? OWNER(vertex) : (uint)((key | node.KEY) >> shift);
    }
}
