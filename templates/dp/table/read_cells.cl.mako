<%page args="cell='int', define='', parameters='global const int *dp_M0', names='dp_M0', access='dp_M0[dp_offset(DP_ROWS, a, b, n, m)]', variant='group', wg_size=256, items_per_thread=1"/>\
// read_cells: gathers cells of a table that lie on a line, for every layout of the table.
//
//   table   cells (i, j), (i + di, j + dj), (i + 2 di, j + 2 dj) ..
//   out     [ 0 | 1 | 2 | .. | count - 1 ]
//
// Reads and writes count cells.
#include "portable.h"
#define WG_SIZE ${wg_size}
#include "dp/dp_pattern.h"
#include "dp/dp_pointers.h"
${define}
inline ${cell} dp_read(const int a, const int b, const int n, const int m, ${parameters})
{
    return ${access};
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void read_cells(${parameters}, const int n, const int m, const int i, const int j, const int di, const int dj,
                const int count, global ${cell} *out)
{
    for (uint k = get_global_id(0); k < (uint)count; k += get_global_size(0))
        out[k] = dp_read(i + (int)k * di, j + (int)k * dj, n, m, ${names});
}
