<%page args="cell='int', define='', parameters='global const int *dp_M0', names='dp_M0', access='dp_M0[dp_offset(DP_ROWS, a, b, n, m)]', variant='group', wg_size=256, items_per_thread=1"/>\
// take_cells: gathers cells of a table at given rows and columns.
//
//   pairs    out[k] is the cell in row rows[k] and column columns[k]                        (width 0)
//   crosses  out[r * width + c] is the cell in row rows[r] and column columns[c]
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
void take_cells(${parameters}, const int n, const int m, global const int *rows, global const int *columns, const uint width,
                const ulong count, global ${cell} *out)
{
    for (ulong k = get_global_id(0); k < count; k += get_global_size(0)) {
        const ulong row = width ? k / width : k, column = width ? k % width : k;
        out[k] = dp_read(rows[row], columns[column], n, m, ${names});
    }
}
