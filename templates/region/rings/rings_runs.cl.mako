<%page args="value='float', threshold='float', below=False, nodata=False, emit=False, variant='group', wg_size=256, items_per_thread=1"/>\
// rings_runs: the runs of covered cells in the rows of every map and level: their number (first launch), then the runs.
//
//   row     . # # # . # .          a group takes one row after the other; on a CPU a work-item takes a share of the rows
//   lefts     1       5            columns of the first and of the last cell of each run, row after row, map after map
//   rights        3   5
//
// Reads every value once for each launch and level; writes 16 bytes a run.
#include "portable.h"
#define VALUE ${value}
#define THRESHOLD ${threshold}
#define BELOW ${int(below)}
#define NODATA ${int(nodata)}
#include "coverage/covered.h"
#define WG_SIZE ${wg_size}
% if variant == "group" and emit:
#include "group/scan.h"
GROUP_SCAN(group_scan_sums, local, uint, GROUP_SUM)
% endif

// Rows `first_row` .. of each map; the first of them begins at `start`. counts[0] is 0 and counts[row + 1] the number of
// a row's runs; starts[row] is the number of its first run.
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rings_runs(global const VALUE *restrict raster, const ulong start, const uint maps, const uint first_row,
                const uint rows, const uint all_rows, const uint columns, const uint first_map, const uint levels,
                global const THRESHOLD *thresholds, const THRESHOLD nodata,
% if emit:
                global const uint *starts, global int *lefts, global int *rights, global uint *row_of,
                global uint *parents)
% else:
                global uint *counts)
% endif
{
    const ulong all = (ulong)maps * rows * levels;
    const uint lid = get_local_id(0);
% if variant == "serial":
    const ulong share = (all + get_global_size(0) - 1) / get_global_size(0);
    const ulong begin = min(get_global_id(0) * share, all), end = min(begin + share, all), stride = 1;
% else:
    const ulong begin = get_group_id(0), end = all, stride = get_num_groups(0);
%   if emit:
    local uint cells[2 * WG_SIZE];
%   else:
    local uint total;
%   endif
% endif
    for (ulong i = begin; i < end; i += stride) {
        const uint k = i % levels, map = first_map + i / levels / rows, row = first_row + i / levels % rows;
        global const VALUE *const here = raster + start + i / levels * columns;
        const THRESHOLD level = thresholds[k];
        const uint line = (map * levels + k) * all_rows + row;
% if variant == "serial" and not emit:
        uint count = COVERED(here[0], level);
        for (uint c = 1; c < columns; ++c)
            count += COVERED(here[c], level) & !COVERED(here[c - 1], level);
        counts[line + 1] = count;
        if (line == 0)
            counts[0] = 0;
% elif variant == "serial":
        uint run = starts[line];
        if (run == starts[line + 1])
            continue;
        int before = 0;
        for (uint c = 0; c < columns; ++c) {
            const int covered = COVERED(here[c], level);
            if (covered != before) {
                if (covered) {
                    lefts[run] = c;
                    row_of[run] = line;
                    parents[run] = run;
                } else
                    rights[run++] = c - 1;
            }
            before = covered;
        }
        if (before)
            rights[run] = columns - 1;
% elif not emit:
        if (lid == 0)
            total = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        uint count = 0;
        for (uint c = lid; c < columns; c += WG_SIZE)
            count += COVERED(here[c], level) && !(c > 0 && COVERED(here[c - (c > 0)], level));
        if (count)
            atomic_add(&total, count);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid == 0) {
            counts[line + 1] = total;
            if (line == 0)
                counts[0] = 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
% else:
        uint first = starts[line], last = first;
        for (uint base = 0; base < columns; base += WG_SIZE) {
            const uint c = base + lid, at = min(c, columns - 1);
            const int covered = COVERED(here[at], level) && c < columns;
            const int before = COVERED(here[at - (at > 0)], level) && at > 0;
            const int after = COVERED(here[min(at + 1, columns - 1)], level) && at + 1 < columns;
            const uint begins = covered && !before, ends = covered && !after;
            cells[lid] = begins | ends << 16;
            const uint from = group_scan_sums(cells, WG_SIZE, lid);
            const uint mine = cells[from + lid], sums = cells[from + WG_SIZE - 1];
            if (begins) {
                const uint run = first + (mine & 0xffff) - 1;
                lefts[run] = c;
                row_of[run] = line;
                parents[run] = run;
            }
            if (ends)
                rights[last + (mine >> 16) - 1] = c;
            first += sums & 0xffff;
            last += sums >> 16;
            GROUP_BARRIER();
        }
% endif
    }
}
