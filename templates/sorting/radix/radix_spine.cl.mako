<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// radix_spine: the first index of each group's keys among all keys of a digit (second launch of a radix pass).
//
//   counts  [ digit 0: group 0, group 1 .. | digit 1: .. | .. ]    each row becomes its exclusive scan, in place
//   totals  [ digit 0 | digit 1 | .. ]                             and its sum; radix_scatter scans these
//
// A group of work-items takes a row at a time; a work-item takes a run of its entries: their sum first, then, after a
// scan of the sums, the entries again. Reads 2 * rows * columns, writes half of that.
#include "portable.h"
#define WG_SIZE ${wg_size}
#include "group/scan.h"
GROUP_SCAN(group_scan_sums, local, uint, GROUP_SUM)

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void radix_spine(global uint *counts, const uint rows, const uint columns, global uint *totals)
{
    local uint cells[2 * WG_SIZE];
    const uint lid = get_local_id(0), run = (columns + WG_SIZE - 1) / WG_SIZE;
    const uint begin = min(lid * run, columns), end = min(begin + run, columns);
    for (uint row = get_group_id(0); row < rows; row += get_num_groups(0)) {
        global uint *line = counts + (ulong)row * columns;
        uint mine = 0;
        for (uint k = begin; k < end; ++k)
            mine += line[k];
        cells[lid] = mine;
        const uint at = group_scan_sums(cells, WG_SIZE, lid);
        uint sum = cells[at + lid] - mine;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = begin; k < end; ++k) {
            const uint count = line[k];
            line[k] = sum;
            sum += count;
        }
        if (lid == WG_SIZE - 1)
            totals[row] = sum;
    }
}
