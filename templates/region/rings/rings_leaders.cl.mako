<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// rings_leaders: the least chain of each ring, ascending, and the first run of the part that the ring bounds.
//
//   heads     | 6' 0  4' 0 0 ..      before: their sums before each chain; the upper word counts rings
//   leaders   | 0  2 ..
//   parts     | 0  0 .. | 0xffffffff ..        up to `padded`: keys that are sorted behind those of all rings
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rings_leaders(global const ulong *before, global const uint *firsts, global const uint *roots, const uint n,
                   const uint rings, const uint padded, global uint *leaders, global uint *parts)
{
    for (uint i = rings + get_global_id(0); i < padded; i += get_global_size(0))
        parts[i] = 0xffffffff;
    const range_t items = items_of(n);
    for (uint chain = items.begin; chain < items.end; chain += items.stride) {
        const uint ring = before[chain] >> 32;
        if ((uint)(before[chain + 1] >> 32) != ring) {
            leaders[ring] = chain;
            parts[ring] = roots[firsts[chain] / 2];
        }
    }
}
