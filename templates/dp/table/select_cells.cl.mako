<%page args="cell='int', define='', parameters='global const int *dp_M0', names='dp_M0', access='dp_M0[dp_offset(DP_ROWS, a, b, n, m)]', variant='group', wg_size=128, items_per_thread=1"/>\
// select_cells: the cells of a region of a table that hold in a comparison, row after row. Two launches.
//
//   region   | group 0        | group 1        | .. |     each group takes `share` cells, one row after the other
//   counts   [ cells of group 0 | of group 1 | .. ]       written by the first launch (write = 0)
//   out      [ numbers of the cells, ascending ]          by the second, a group's from starts[group] on
//
// Cell (r, c) of the region is cell (i + r * di, j + c * dj) of the table; its number is r * columns + c. Reads every cell
// twice in all.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define CELL ${cell}
#define VALUE ulong
#define FLOATS ${int(cell in ("float", "double"))}
#define CELL_IS_DOUBLE ${int(cell == "double")}
#define OP 5
#include "dp/dp_over.h"
#include "group/scan.h"
#include "dp/dp_pattern.h"
#include "dp/dp_pointers.h"
${define}
inline ${cell} dp_read(const int a, const int b, const int n, const int m, ${parameters})
{
    return ${access};
}
GROUP_SCAN(group_counts, local, uint, GROUP_SUM)

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void select_cells(${parameters}, const int n, const int m, const int i, const int j, const int di, const int dj,
                  const int columns, const ulong cells, const ulong share, const int comparison, const CELL bound,
                  const int write, global ulong *counts, global ulong *out)
{
    const uint lid = get_local_id(0), group = get_group_id(0);
    local uint local_found[2 * WG_SIZE];
    const ulong begin = min(group * share, cells), end = min(begin + share, cells);
    ulong done = write ? counts[group] : 0;
    int r = (int)((begin + lid) / columns), c = (int)((begin + lid) % columns);
    for (ulong base = begin; base < end; base += WG_SIZE) {
        const ulong at = base + lid;
        const bool found = at < end && over_holds(dp_read(i + r * di, j + c * dj, n, m, ${names}), comparison, bound);
        barrier(CLK_LOCAL_MEM_FENCE);
        local_found[lid] = found;
        const uint first = group_counts(local_found, WG_SIZE, lid);
        if (write && found)
            out[done + local_found[first + lid] - 1] = at;
        done += local_found[first + WG_SIZE - 1];
        r += WG_SIZE / columns;
        c += WG_SIZE % columns;
        if (c >= columns) {
            c -= columns;
            ++r;
        }
    }
    if (lid == 0 && !write)
        counts[group] = done;
}
