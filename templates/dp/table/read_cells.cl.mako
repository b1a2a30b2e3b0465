<%page args="cell='int', define='', parameters='global const int *dp_M0', names='dp_M0', access='dp_M0[dp_offset(DP_ROWS, a, b, n, m)]', variant='group', wg_size=256, items_per_thread=1"/>\
// read_cells: gathers the cells of a region of a table, for every layout of the table.
//
//   region  cell (r, c) is cell (i + r * di, j + c * dj) of the table
//   out     [ row 0 of the region | row 1 | .. ]       `columns` cells each
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
                const int columns, const ulong count, global ${cell} *out)
{
    for (ulong k = get_global_id(0); k < count; k += get_global_size(0)) {
        const int r = (int)(k / columns), c = (int)(k % columns);
        out[k] = dp_read(i + r * di, j + c * dj, n, m, ${names});
    }
}
