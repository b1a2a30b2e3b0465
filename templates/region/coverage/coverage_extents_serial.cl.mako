<%page args="value='float', threshold='float', levels=1, below=False, nodata=False, by_bits=False, variant='serial', wg_size=1, items_per_thread=8"/>\
<% compare = "<=" if below else ">=" %>\
// coverage_extents: in each column the first and the last row that is covered, for several levels in one read.
//
//            | columns ->                                 a map is cut into bands of rows; a work-item takes a band, all
//   band 0   | item 0 ..                                  columns, ${items_per_thread} rows at a time, in loops over columns that
//   band 1   | item 1 ..                                  compilers vectorise
//   extents  [ map 0: level 0: band 0: first row of every column, last row of every column | band 1 .. | level 1 .. ]
//
// The first extent of a launch has number `first`, each a band; maps are map_bands apart, and levels level_bands.
// A cell is covered where value ${compare} level; NaN never is. first > last marks a column without any. Reads every
// value once, and the extents again for every ${items_per_thread} rows.
#include "portable.h"
#define VALUE ${value}
#define THRESHOLD ${threshold}
#define BELOW ${int(below)}
#define NODATA ${int(nodata)}
#define BY_BITS ${int(by_bits)}
#include "coverage/covered.h"
#define WG_SIZE ${wg_size}
#define ROWS ${items_per_thread}
#define NONE INT_MAX

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void coverage_extents(global const VALUE *restrict raster, const ulong start, const uint first_row, const uint rows,
                      const uint columns, const uint bands, const uint first, const uint map_bands,
                      const uint level_bands, global const THRESHOLD *thresholds, const THRESHOLD nodata,
                      global int *restrict extents)
{
    const uint map = get_group_id(0) / bands, band = get_group_id(0) % bands;
    const uint share = (rows + bands - 1) / bands, begin = min(band * share, rows), end = min(begin + share, rows);
    global const VALUE *const values = raster + start + (ulong)map * rows * columns;
% for k in range(levels):
    const THRESHOLD level_${k} = thresholds[${k}];
    global int *const first_${k} = extents + 2 * (ulong)columns * (first + map * map_bands + ${k} * level_bands + band);
    global int *const last_${k} = first_${k} + columns;
% endfor
    for (uint c = 0; c < columns; ++c) {
% for k in range(levels):
        first_${k}[c] = NONE;
        last_${k}[c] = -1;
% endfor
    }
    uint r = begin;
    for (; r + ROWS <= end; r += ROWS) {
        global const VALUE *const row = values + (ulong)r * columns;
        const int here = first_row + r;
% for k in range(levels):
        for (uint c = 0; c < columns; ++c) {   // one loop for each level: some compilers cannot tell so many arrays apart
            int first = first_${k}[c], last = last_${k}[c], top = NONE;
% for i in range(items_per_thread):
            const int in_${i} = COVERED(row[c + ${i} * (ulong)columns], level_${k});
            last = in_${i} ? here + ${i} : last;
% endfor
% for i in reversed(range(items_per_thread)):
            top = in_${i} ? here + ${i} : top;
% endfor
            first_${k}[c] = top < first ? top : first;
            last_${k}[c] = last;
        }
% endfor
    }
    for (; r < end; ++r) {
        global const VALUE *const row = values + (ulong)r * columns;
        const int here = first_row + r;
% for k in range(levels):
        for (uint c = 0; c < columns; ++c) {
            const int covered = COVERED(row[c], level_${k}), first = first_${k}[c], last = last_${k}[c];
            first_${k}[c] = covered && here < first ? here : first;
            last_${k}[c] = covered ? here : last;
        }
% endfor
    }
}
