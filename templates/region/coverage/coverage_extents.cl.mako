<%page args="value='float', threshold='float', levels=1, below=False, nodata=False, by_bits=False, variant='group', wg_size=256, items_per_thread=8"/>\
<% compare = "<=" if below else ">=" %>\
// coverage_extents: in each column the first and the last row that is covered, for several levels in one read.
//
//            | columns ->                                 a map is cut into bands of rows; a group takes WG_SIZE
//   band 0   | group 0  | group 1  | ..                   columns of one band, from the top down, neighbours side by side,
//   band 1   | group s  | ..                              ${items_per_thread} rows at a time
//   extents  [ map 0: level 0: band 0: first row of every column, last row of every column | band 1 .. | level 1 .. ]
//
// The first extent of a launch has number `first`, each a band; maps are map_bands apart, and levels level_bands.
// A cell is covered where value ${compare} level; NaN never is. first > last marks a column without any. Reads every
// value once, writes 2 * columns * bands integers a map and level.
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
    const uint strips = (columns + WG_SIZE - 1) / WG_SIZE;
    const uint strip = get_group_id(0) % strips, band = get_group_id(0) / strips % bands,
               map = get_group_id(0) / strips / bands;
    const uint share = (rows + bands - 1) / bands, begin = min(band * share, rows), end = min(begin + share, rows);
    global const VALUE *const values = raster + start + (ulong)map * rows * columns;
% for k in range(levels):
    const THRESHOLD level_${k} = thresholds[${k}];
    global int *const first_${k} = extents + 2 * (ulong)columns * (first + map * map_bands + ${k} * level_bands + band);
    global int *const last_${k} = first_${k} + columns;
% endfor
    const uint column = strip * WG_SIZE + get_local_id(0);
    global const VALUE *at = values + (ulong)begin * columns + min(column, columns - 1);
% for k in range(levels):
    int low_${k} = NONE, high_${k} = -1;
% endfor
    uint r = begin;
    for (; r + ROWS <= end; r += ROWS, at += ROWS * (ulong)columns) {
        const int here = first_row + r;
% for i in range(items_per_thread):
        const VALUE v${i} = at[${i} * (ulong)columns];
% endfor
% for i in range(items_per_thread):
% for k in range(levels):
        if (COVERED(v${i}, level_${k})) {
            low_${k} = min(low_${k}, here + ${i});
            high_${k} = here + ${i};
        }
% endfor
% endfor
    }
    for (; r < end; ++r, at += columns) {
        const int here = first_row + r;
% for k in range(levels):
        if (COVERED(*at, level_${k})) {
            low_${k} = min(low_${k}, here);
            high_${k} = here;
        }
% endfor
    }
    if (column < columns) {
% for k in range(levels):
        first_${k}[column] = low_${k};
        last_${k}[column] = high_${k};
% endfor
    }
}
