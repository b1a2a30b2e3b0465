<%page args="value='float', threshold='float', levels=1, below=False, nodata=False, by_bits=False, emit=False, variant='group', wg_size=256, items_per_thread=1"/>\
// coverage_edges: the ends of the covered runs of every column: their numbers (first launch), then their places.
//
//   columns   | 0 .. 63 | 64 .. 127 | ..        a work-item takes a strip of rows of a block of columns, on GPUs of a
//   strip 0   | item 0  | item 1    | ..        column: neighbouring items read neighbouring values
//   strip 1   | ..
//
//   column    . # # # . # .                     a run begins where the cell above is not covered, and ends above a cell
//   begins      1       5                       that is not; numbers are in the order of map, level, column and strip,
//   ends            3   5                       so the places of each list ascend by column and row
//
// Reads every value once for each level and launch; writes 16 bytes a run.
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "portable.h"
#define VALUE ${value}
#define THRESHOLD ${threshold}
#define BELOW ${int(below)}
#define NODATA ${int(nodata)}
#define BY_BITS ${int(by_bits)}
#define EMIT ${int(emit)}
#define LEVELS ${levels}
#include "coverage/covered.h"
#define WG_SIZE ${wg_size}
#if CLGEOM_SERIAL
#define BLOCK 64                    // columns of a work-item, whose rows a CPU compares at a time
#else
#define BLOCK 1
#endif

// Rows `first_row` .. of each map; the first of them begins at `start`. The row above them is in memory, too. The last of
// `counts` is 0; in their sums `places` the begins of all columns come before the ends.
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void coverage_edges(global const VALUE *restrict raster, const ulong start, const uint maps, const uint first_row,
                    const uint rows, const uint all_rows, const uint columns, global const THRESHOLD *thresholds,
                    const THRESHOLD nodata, const uint strips,
#if EMIT
                    global const uint *restrict places, global uint *restrict row_of, global uint *restrict column_of)
#else
                    global uint *restrict counts)
#endif
{
    const uint blocks = (columns + BLOCK - 1) / BLOCK, height = (rows + strips - 1) / strips;
    const ulong all = (ulong)maps * LEVELS * strips * blocks, lists = (ulong)maps * LEVELS * strips * columns;
#if CLGEOM_SERIAL
    const ulong share = (all + get_global_size(0) - 1) / get_global_size(0);
    const ulong begin = min(get_global_id(0) * share, all), end = min(begin + share, all), stride = 1;
#else
    const ulong begin = get_global_id(0), end = all, stride = get_global_size(0);
#endif
#if !EMIT
    if (get_global_id(0) == 0)
        counts[2 * lists] = 0;
#endif
    for (ulong i = begin; i < end; i += stride) {
        const uint first = i % blocks * BLOCK, strip = i / blocks % strips, width = min((uint)BLOCK, columns - first);
        const ulong mask = i / blocks / strips, map = mask / LEVELS;  // of the maps here
        const uint top = min(strip * height, rows), bottom = min(top + height, rows);
        const THRESHOLD level = thresholds[mask % LEVELS];
        global const VALUE *here = raster + start + (map * rows + top) * columns + first;
        const int has_above = first_row + top > 0;
        uint begins[BLOCK], ends[BLOCK];    // numbers of both, or the next place in each list
        uchar covered[BLOCK], changed[BLOCK];
        for (uint j = 0; j < BLOCK; ++j) {
            covered[j] = 0;
            changed[j] = 0;
        }
        for (uint j = 0; j < width; ++j) {
            global const VALUE *const above = has_above ? here - columns + j : here + j;
            covered[j] = has_above && COVERED(above[0], level);
#if EMIT
            const ulong list = (mask * columns + first + j) * strips + strip;
            begins[j] = places[list];
            ends[j] = places[lists + list];
#else
            begins[j] = ends[j] = 0;
#endif
        }
        for (uint row = top; row < bottom; ++row, here += columns) {
#if EMIT
            for (uint j = 0; j < width; ++j) {
                const uchar now = COVERED(here[j], level);
                changed[j] = now ^ covered[j];
                covered[j] = now;
            }
#if CLGEOM_SERIAL
            for (uint eight = 0; eight < BLOCK; eight += 8)
                if (as_ulong(vload8(0, changed + eight)) != 0)
#else
            const uint eight = 0;
#endif
                    for (uint j = eight; j < min(eight + 8, width); ++j)
                        if (changed[j]) {
                            const uint place = covered[j] ? begins[j]++ : ends[j]++;
                            row_of[place] = first_row + row - !covered[j];
                            column_of[place] = mask * columns + first + j;
                        }
#else
            for (uint j = 0; j < width; ++j) {
                const uchar now = COVERED(here[j], level);
                begins[j] += now & !covered[j];
                ends[j] += covered[j] & !now;
                covered[j] = now;
            }
#endif
        }
        const int is_last = first_row + rows == all_rows && bottom == rows && top < bottom;
        for (uint j = 0; j < width; ++j) {
            const int ends_here = is_last && covered[j];
#if EMIT
            if (ends_here) {
                row_of[ends[j]] = all_rows - 1;
                column_of[ends[j]] = mask * columns + first + j;
            }
#else
            const ulong list = (mask * columns + first + j) * strips + strip;
            counts[list] = begins[j];
            counts[lists + list] = ends[j] + ends_here;
#endif
        }
    }
}
