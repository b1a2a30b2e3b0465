<%page args="letter='uchar', cell='int', grid=False, variant='group', wg_size=64, items_per_thread=1"/>\
// pairs_partial: the part of the longer sequence of a pair that is most like the shorter one: two integers a pair, the
// letters to insert or delete between the two, and the letters of both.
//
//   strands   from above each column and from the left of each row, numbered from the lowest row up and then along the
//             columns; they cross in each cell, but bounce where letters are equal or where they have crossed before
//   windows   the longest common subsequence of all rows with columns s .. e - 1 has as many letters as the window, less
//             the strands that enter it from above and leave it below; with rows s .. e - 1 and all columns alike
//
// Parts are windows as long as the shorter sequence, and shorter ones at both ends; of sequences of one length, parts of
// either. Lanes that are shorter than others have rows and columns of strands that never bounce.
//
// rows, columns: begin and length. grid: pair p is that of row p / width and column p % width; else of row and column p.
// Scratch of an item: strands of rows and of columns, letters of rows and of columns, which become ends of strands.
// Cost: 8 operations a cell and LANES pairs, then 3 for each letter of each window in vectors of short cells, which have
// no ends, or 10 for each letter. Source: Tiskin, "Semi-local string comparison:
// algorithmic techniques and applications" (2008).
<%
    lanes = items_per_thread
    vector = cell if lanes == 1 else f"{cell}{lanes}"
%>\
#define WG_SIZE ${wg_size}
#define LANES ${lanes}
typedef ${cell} cell_t;
typedef ${vector} cells_t;
#include "portable.h"
#if WG_SIZE == 1
#define AT(k) own[k]
#define LANE(k, l) ((global cell_t *)own)[(k) * LANES + (l)]
#else
#define AT(k) own[(ulong)(k) * items]
#define LANE(k, l) AT(k)
#endif
% if lanes == 1:
#define PICK(condition, yes, no) ((condition) ? (yes) : (no))
% else:
#define PICK(condition, yes, no) select(no, yes, condition)
% endif

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void pairs_partial(global const ${letter} *letters, global const uint *rows, global const uint *columns,
                   const uint width, const uint first, const uint stop, const uint items, const uint room,
                   const uint each, global cells_t *scratch, global int *out)
{
    const uint gid = get_global_id(0);
#if WG_SIZE == 1
    global cells_t *own = scratch + (ulong)gid * each;
#else
    global cells_t *own = scratch + gid;
#endif
    for (ulong p = gid < items ? first + (ulong)gid * LANES : stop; p < stop; p += (ulong)items * LANES) {
        uint begins[2][LANES], sizes[2][LANES], most[2] = {0, 0};
        for (uint l = 0; l < LANES; ++l) {
            const ulong pair = min(p + l, (ulong)stop - 1);
            const ulong row = ${"pair / width" if grid else "pair"}, column = ${"pair % width" if grid else "pair"};
            begins[0][l] = rows[2 * row];
            begins[1][l] = columns[2 * column];
            sizes[0][l] = rows[2 * row + 1];
            sizes[1][l] = columns[2 * column + 1];
            for (uint side = 0; side < 2; ++side)
                most[side] = max(most[side], sizes[side][l]);
        }
        const uint n = most[0], m = most[1], column_strands = room, row_letters = each / 2;
        const uint column_letters = row_letters + room;
        for (uint l = 0; l < LANES; ++l) {
            for (uint i = 0; i < n; ++i) {
                const bool is_row = i < sizes[0][l];
                LANE(i, l) = is_row ? sizes[0][l] - 1 - i : 0;
                LANE(row_letters + i, l) = is_row ? (cell_t)letters[begins[0][l] + i] : (cell_t)-1;
            }
            for (uint j = 0; j < m; ++j) {
                const bool is_column = j < sizes[1][l];
                LANE(column_strands + j, l) = is_column ? sizes[0][l] + j : ${"SHRT_MAX" if cell == "short" else "INT_MAX"};
                LANE(column_letters + j, l) = is_column ? (cell_t)letters[begins[1][l] + j] : (cell_t)-2;
            }
        }
        for (uint i = 0; i < n; ++i) {
            const cells_t wanted = AT(row_letters + i);
            cells_t strand = AT(i);
            for (uint j = 0; j < m; ++j) {
                const cells_t above = AT(column_strands + j);
                const cells_t next = PICK((wanted == AT(column_letters + j)) | (strand > above), above, strand);
                AT(column_strands + j) = strand ^ above ^ next;
                strand = next;
            }
            AT(i) = strand;
        }
% if cell == "short" and lanes > 1:
        cells_t common = 0, both = 1, size[2], zero = 0;
        for (uint l = 0; l < LANES; ++l)
            for (uint side = 0; side < 2; ++side)
                ((private cell_t *)&size[side])[l] = sizes[side][l];
        for (uint side = 0; side < 2; ++side) {                // parts of the rows, and of the columns
            const uint strands = side ? column_strands : 0;
            const cells_t shorter = size[1 - side], longer = size[side], is_part = shorter <= longer;
            for (int k = 0; k < (int)most[side]; ++k) {        // where the strand began; less than 0: on another side
                const cells_t begin = side ? AT(strands + k) - size[0] : size[0] - (cell_t)1 - AT(strands + k);
                AT(strands + k) = select((cells_t)-1, begin, longer > (cell_t)k);
            }
            int widest = 0, last = 0;
            for (uint l = 0; l < LANES; ++l)
                if (sizes[1 - side][l] <= sizes[side][l]) {
                    widest = max(widest, (int)sizes[1 - side][l]);
                    last = max(last, (int)(sizes[0][l] + sizes[1][l]) - 1);
                }
            for (int k = 0; k < last; ++k) {                   // windows before k
                const cells_t begin = max((cell_t)(k + 1) - shorter, zero), end = min((cells_t)(cell_t)(k + 1), longer);
                cells_t passing = 0;
                for (int from = max(k + 1 - widest, 0); from < min(k + 1, (int)most[side]); ++from)
                    passing -= AT(strands + from) >= begin;
                const cells_t same = end - begin - passing, letters_of_both = shorter + end - begin;
                const cells_t is_more = (same * both > common * letters_of_both) & (end > begin) & is_part;
                common = select(common, same, is_more);
                both = select(both, letters_of_both, is_more);
            }
        }
        for (uint l = 0; l < LANES && p + l < stop; ++l) {
            const int of_both = sizes[0][l] + sizes[1][l] == 0 ? 0 : ((private cell_t *)&both)[l];
            out[2 * (p + l)] = of_both == 0 ? 0 : of_both - 2 * ((private cell_t *)&common)[l];
            out[2 * (p + l) + 1] = of_both;
        }
    }
}
% else:
        for (uint l = 0; l < LANES && p + l < stop; ++l) {
            uint common = 0, both = 1;
            for (uint side = 0; side < 2; ++side) {            // parts of the rows, and of the columns
                const int size = sizes[1 - side][l], longer = sizes[side][l], rows_here = sizes[0][l];
                if (size > longer || size == 0)
                    continue;
                const uint strands = side ? column_strands : 0, ends = side ? column_letters : row_letters;
                for (int k = 0; k < longer; ++k)
                    LANE(ends + k, l) = longer;
                for (int k = 0; k < longer; ++k) {             // where the strand began; less than 0: on another side
                    const int begin = side ? LANE(strands + k, l) - rows_here : rows_here - 1 - LANE(strands + k, l);
                    LANE(strands + k, l) = begin;
                    if (begin >= 0)
                        LANE(ends + begin, l) = k;
                }
                int passing = 0;
                for (int k = 0; k < longer + size - 1; ++k) {  // windows before k
                    const int begin = max(k + 1 - size, 0), end = min(k + 1, longer);
                    if (begin > 0)
                        passing -= LANE(ends + begin - 1, l) < min(k, longer);
                    if (k < longer)
                        passing += LANE(strands + k, l) >= begin;
                    const uint same = end - begin - passing, letters_of_both = size + end - begin;
                    if ((ulong)same * both > (ulong)common * letters_of_both) {
                        common = same;
                        both = letters_of_both;
                    }
                }
            }
            const bool are_empty = sizes[0][l] == 0 && sizes[1][l] == 0;
            out[2 * (p + l)] = are_empty ? 0 : both - 2 * common;
            out[2 * (p + l) + 1] = are_empty ? 0 : both;
        }
    }
}
% endif
