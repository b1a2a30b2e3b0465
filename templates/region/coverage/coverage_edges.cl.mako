<%page args="value='float', threshold='float', levels=1, below=False, nodata=False, by_bits=False, variant='group', wg_size=256, items_per_thread=1"/>\
// coverage_edges: marks the cells where the covered runs of every column begin (1), end (2) or both (3); 0 elsewhere.
//
//   column   . # # # . # .          labels of one map and level after the other, in the raster's order, so that
//   label    0 1 0 2 0 3 0          neighbouring items write neighbouring bytes
//
// Reads every value three times (twice from the cache), writes a byte a value and level.
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "portable.h"
#define VALUE ${value}
#define THRESHOLD ${threshold}
#define BELOW ${int(below)}
#define NODATA ${int(nodata)}
#define BY_BITS ${int(by_bits)}
#include "coverage/covered.h"
#define WG_SIZE ${wg_size}

// Rows `first_row` .. of each map; the first of them begins at `start`. Neighbouring rows of the map are in memory, too.
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void coverage_edges(global const VALUE *restrict raster, const ulong start, const uint maps, const uint first_row,
                    const uint rows, const uint all_rows, const uint columns, global const THRESHOLD *thresholds,
                    const THRESHOLD nodata, global uchar *restrict labels)
{
    const ulong all = (ulong)maps * rows;
#if CLGEOM_SERIAL
    const ulong share = (all + get_global_size(0) - 1) / get_global_size(0);
    const ulong begin = min(get_global_id(0) * share, all), end = min(begin + share, all), stride = 1;
#else
    const ulong begin = get_group_id(0), end = all, stride = get_num_groups(0);
#endif
    for (ulong i = begin; i < end; i += stride) {
        const uint map = i / rows, row = i % rows;
        global const VALUE *const here = raster + start + i * columns;
        const int has_above = first_row + row > 0, has_below = first_row + row + 1 < all_rows;
        global const VALUE *const above = here - (has_above ? columns : 0);
        global const VALUE *const below = here + (has_below ? columns : 0);
% for k in range(levels):
        {
            const THRESHOLD level = thresholds[${k}];
            global uchar *const out = labels + (((ulong)map * ${levels} + ${k}) * rows + row) * columns;
            for (uint c = ${"0" if variant == "serial" else "get_local_id(0)"}; c < columns; c += ${"1" if variant == "serial" else "WG_SIZE"}) {
                const VALUE v = here[c], u = above[c], w = below[c];
                const uchar begins = !(COVERED(u, level) && has_above), ends = !(COVERED(w, level) && has_below);
                out[c] = COVERED(v, level) ? (uchar)(begins | ends << 1) : (uchar)0;
            }
        }
% endfor
    }
}
