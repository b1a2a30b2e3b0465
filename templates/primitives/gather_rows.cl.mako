<%page args="value='float', index='uint', width=2, variant='group', wg_size=256, items_per_thread=1"/>\
// gather_rows: the rows of a table at these indices.
//
//   indices | 7 2 9 .. |      one work-item, one row
//   out     | row 7 | row 2 | row 9 | ..
//
// Rows outside start .. start + rows are left to the launches over the other chunks of the table.
#include "portable.h"
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "group/share.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void gather_rows(global const ${value} *table, const ulong start, const ulong rows, global const ${index} *indices,
                 const ulong n, global ${value} *out)
{
    EACH_OF(ulong, i, n, get_global_id(0), get_global_size(0)) {
        const ulong row = indices[i] - start;   // wraps around, and is too large, below start
        if (row < rows) {
% for k in range(width):
            out[${width} * i + ${k}] = table[${width} * row + ${k}];
% endfor
        }
    }
}
