<%page args="value='uchar', nodata=False, variant='group', wg_size=256, items_per_thread=1"/>\
// classes_marks: the sides between classes of some rows, as four masks for each word of 32 corners; see classes/lines.h.
//
//   above    a a b |      a work-item compares the cells of a word with those before them and with those of the row above
//   row      a c c |      `valid` has a bit for each cell with data
//
// Rows `first_row` .. `first_row` + `rows` - 1 of `maps` maps, and the line under the last row of a map. Cells outside, and
// cells of `nodata`, come after all classes.
// Reads each cell of two rows; writes 20 bytes for 32 cells.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#define VALUE ${value}
% if nodata:
#define KNOWN(a) ((a) != nodata)
#define LESS(a, b) (KNOWN(a) && (!KNOWN(b) || (a) < (b)))
% else:
#define KNOWN(a) 1
#define LESS(a, b) ((a) < (b))
% endif
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_marks(global const VALUE *cells, const ulong start, const uint maps, const uint first_map,
                   const uint first_row, const uint rows, const uint all_rows, const uint columns, const uint words,
                   const VALUE nodata, global uint4 *planes, global uint *valid)
{
    const uint lines = rows + (first_row + rows == all_rows);
    const range_t items = items_of(maps * lines * words);
    for (uint i = items.begin; i < items.end; i += items.stride) {
        const uint word = i % words, number = i / words % lines, map = i / words / lines;
        const uint row = first_row + number, at = ((first_map + map) * (all_rows + 1) + row) * words + word;
        const uint x = 32 * word;
        global const VALUE *own = cells + (start + ((ulong)map * rows + number) * columns + x), *above = own - columns;
        uint down = 0, up = 0, east = 0, west = 0, known = 0;
        if (row > 0 && row < all_rows && x > 0 && x + 32 <= columns) {
            for (uint k = 0; k < 32; ++k) {
                const VALUE cell = own[k], left = own[(int)k - 1], over = above[k];
                down |= (uint)LESS(left, cell) << k;
                up |= (uint)LESS(cell, left) << k;
                east |= (uint)LESS(cell, over) << k;
                west |= (uint)LESS(over, cell) << k;
                known |= (uint)KNOWN(cell) << k;
            }
        } else {
            for (uint k = 0; k < 32 && x + k <= columns; ++k) {
                const int here = x + k < columns, beside = x + k > 0, now = row < all_rows;
                VALUE cell = 0, left = 0, over = 0;
                int has_cell = 0, has_left = 0, has_over = 0;
                if (here && now) {
                    cell = own[k];
                    has_cell = KNOWN(cell);
                }
                if (beside && now) {
                    left = own[(int)k - 1];
                    has_left = KNOWN(left);
                }
                if (here && row > 0) {
                    over = above[k];
                    has_over = KNOWN(over);
                }
                down |= (uint)(has_left && (!has_cell || left < cell)) << k;
                up |= (uint)(has_cell && (!has_left || cell < left)) << k;
                east |= (uint)(has_cell && (!has_over || cell < over)) << k;
                west |= (uint)(has_over && (!has_cell || over < cell)) << k;
                known |= (uint)has_cell << k;
            }
        }
        planes[at] = (uint4)(down, up, east, west);
        valid[at] = known;
    }
}
