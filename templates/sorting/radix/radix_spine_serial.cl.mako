<%page args="variant='serial', wg_size=1, items_per_thread=1"/>\
// radix_spine: the first index of each group's keys among all keys of a digit (second launch of a radix pass).
// The version of CPUs.
//
//   counts  [ digit 0: group 0, group 1 .. | digit 1: .. | .. ]    each row becomes its exclusive scan, in place
//   totals  [ digit 0 | digit 1 | .. ]                             and its sum; radix_scatter scans these
//
// A work-item takes a row at a time. Reads and writes rows * columns.
#include "portable.h"

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void radix_spine(global uint *counts, const uint rows, const uint columns, global uint *totals)
{
    for (uint row = get_group_id(0); row < rows; row += get_num_groups(0)) {
        global uint *line = counts + (ulong)row * columns;
        uint sum = 0;
        for (uint k = 0; k < columns; ++k) {
            const uint count = line[k];
            line[k] = sum;
            sum += count;
        }
        totals[row] = sum;
    }
}
