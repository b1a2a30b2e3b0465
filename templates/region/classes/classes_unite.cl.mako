<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// classes_unite: runs of one class that touch in neighbouring rows get one root, which is the first run of their face.
//
//   row y - 1   | a a a | b b |     where cells over each other are equal, their runs are united once: at the first such cell
//   row y       | c | a a a a |     beside a side
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "classes/lines.h"
#include "classes/unite.h"
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_unite(global const uint4 *planes, global const ulong *runs, global const uint *valid, const uint n,
                   const uint words, const uint lines, const uint columns, volatile global uint *parents)
{
    const range_t items = items_of(n);
    for (uint at = items.begin; at < items.end; at += items.stride) {
        const uint line = at / words, row = line % lines;
        if (row == 0 || row + 1 == lines)
            continue;
        const uint4 own = planes[at], above = planes[at - words];
        const uint sides = own.x | own.y | above.x | above.y;
        uint left = ~(own.z | own.w) & sides & valid[at];
        for (; left; left &= left - 1) {
            const uint x = 32 * (at % words) + 31 - clz(left & -left);
            unite(parents, run_of(planes, runs, line - 1, words, columns, x), run_of(planes, runs, line, words, columns, x));
        }
    }
}
