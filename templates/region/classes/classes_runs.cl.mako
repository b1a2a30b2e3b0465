<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// classes_runs: (column, line) of the first cell of each run of equal cells of a row, whose parent is itself.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "classes/lines.h"
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_runs(global const uint4 *planes, global const ulong *runs, const uint n, const uint words,
                  const uint lines, const uint columns, global uint2 *begins, global uint *parents)
{
    const range_t items = items_of(n);
    for (uint at = items.begin; at < items.end; at += items.stride) {
        const uint line = at / words;
        if (line % lines + 1 == lines)
            continue;
        uint run = runs[at] >> 32;
        for (uint left = begins_of(planes[at], at % words, columns); left; left &= left - 1, ++run) {
            begins[run] = (uint2)(32 * (at % words) + lowest_bit(left), line);
            parents[run] = run;
        }
    }
}
