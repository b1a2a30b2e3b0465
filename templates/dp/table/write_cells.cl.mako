<%page args="cell='int', kind='ROWS', reverse=False, define='', parameters='global int *dp_M0', names='dp_M0', access='dp_M0[dp_offset(DP_ROWS, a, b, n, m)]', variant='group', wg_size=256, items_per_thread=1"/>\
// write_cells: writes given cells to a table, those in stages from `first` to before `last`.
//
//   given   [ cells (i, j) .. | (i + 1, j) .. | .. ]       `columns` cells in a row, `count` in all
//   table   those of these cells whose stage is in the range, in the table's layout; others stay
//
// Reads and writes count cells.
#include "portable.h"
#define WG_SIZE ${wg_size}
#include "dp/dp_pattern.h"
#include "dp/dp_pointers.h"
#define KIND DP_${kind}
${define}
inline void dp_write(const int a, const int b, const int n, const int m, const ${cell} value, ${parameters})
{
    ${access} = value;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void write_cells(${parameters}, const int n, const int m, const int i, const int j, const int columns,
                 const ulong count, const int first, const int last, global const ${cell} *given)
{
    for (ulong k = get_global_id(0); k < count; k += get_global_size(0)) {
        const int a = i + (int)(k / columns), b = j + (int)(k % columns), line = dp_line(KIND, a, b, n);
        const int stage = ${"dp_stages(KIND, n, m) - 1 - line" if reverse else "line"};
        if (first <= stage && stage < last)
            dp_write(a, b, n, m, given[k], ${names});
    }
}
