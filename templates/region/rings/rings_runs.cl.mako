<%page args="value='float', threshold='float', below=False, nodata=False, by_bits=False, emit=False, variant='serial', wg_size=1, items_per_thread=1"/>\
// rings_runs: the runs of covered cells in the rows of every map and level: their number (first launch), then the runs.
//
//   row     . # # # . # .          a work-item takes a share of the rows
//   lefts     1       5            columns of the first and of the last cell of each run, row after row, map after map
//   rights        3   5
//
// Reads every value once for each launch and level; writes 16 bytes a run. For devices with few work-items, such as CPUs;
// rings_bits and rings_ends find the same elsewhere.
#define EMIT ${int(emit)}
#include "portable.h"
#define VALUE ${value}
#define THRESHOLD ${threshold}
#define BELOW ${int(below)}
#define NODATA ${int(nodata)}
#define BY_BITS ${int(by_bits)}
#include "coverage/covered.h"
#define WG_SIZE ${wg_size}

// Rows `first_row` .. of each map; the first of them begins at `start`. counts[0] is 0 and counts[row + 1] the number of
// a row's runs; starts[row] is the number of its first run.
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rings_runs(global const VALUE *restrict raster, const ulong start, const uint maps, const uint first_row,
                const uint rows, const uint all_rows, const uint columns, const uint first_map, const uint levels,
                global const THRESHOLD *thresholds, const THRESHOLD nodata,
#if EMIT
                global const uint *starts, global int *lefts, global int *rights, global uint *row_of,
                global uint *parents)
#else
                global uint *counts)
#endif
{
    const ulong all = (ulong)maps * rows * levels;
    const ulong share = (all + get_global_size(0) - 1) / get_global_size(0);
    const ulong begin = min(get_global_id(0) * share, all), end = min(begin + share, all);
    for (ulong i = begin; i < end; ++i) {
        const uint k = i % levels, map = first_map + i / levels / rows, row = first_row + i / levels % rows;
        global const VALUE *const here = raster + start + i / levels * columns;
        const THRESHOLD level = thresholds[k];
        const uint line = (map * levels + k) * all_rows + row;
#if !EMIT
        uint count = COVERED(here[0], level);
        for (uint c = 1; c < columns; ++c)
            count += COVERED(here[c], level) & !COVERED(here[c - 1], level);
        counts[line + 1] = count;
        if (line == 0)
            counts[0] = 0;
#else
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
#endif
    }
}
