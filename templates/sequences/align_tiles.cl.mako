<%page args="value='int', lanes=1, local=False, best=False, matrix=False, narrow=True, banded=False, tiled=False, path=False, variant='group', wg_size=1, items_per_thread=4"/>\
// align_tiles: tiles of the tables of pairwise alignments with affine gaps. A work-item fills LANES tiles side by side, one
// in each element of its vectors; the tiles of a launch depend on none of the same launch.
//
//            b  -->                     a strip is ROWS rows, whose cells stay in registers; the row above it is in `top`:
//   a  | top ...............|           its H, and its E for the next row
//   |  | strip 0: ROWS rows |           H = max(H diagonal + score, E, F) (and 0 if local)
//   v  | strip 1 ...        |           E: the last letter of a is against a gap, F: that of b
//
// Without `tiled` a tile is a whole pair; with it the edges between tiles are in memory. With `path` the choices of
// all cells are stored, 4 bits each, and the traceback through the tile follows at once. Of cells with the best score the
// end is the one with the least row, then the least column.
// Work: about 11 instructions a cell; 9 bytes of scratch memory are read and written for ROWS cells.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define ROWS ${items_per_thread}
#define LANES ${lanes}
#define LOCAL ${int(local)}
#define BEST ${int(best)}          // the end may be any cell, else a cell in the last row or column
#define MATRIX ${int(matrix)}
#define PROFILE ${int(matrix and narrow and lanes > 1)}   // scores have 8 bits: one look-up gives those of two rows
#define BANDED ${int(banded)}
#define TILED ${int(tiled)}
#define PATH ${int(path)}
typedef ${value} cell_t;
#define LOWEST (${-32768 if value == 'short' else -2147483647 - 1})
#define NEVER (LOWEST / 2)         // stands for minus infinity
#define HIGHEST ${32767 if value == 'short' else 2147483647}
% if lanes > 1:
typedef ${value}${lanes} cells_t;
typedef uchar${lanes} letters_t;
#define LOAD(p) vload${lanes}(0, p)
#define STORE(v, p) vstore${lanes}(v, 0, p)
#define CELLS_OF(v) convert_${value}${lanes}(v)
#define CHOICES_OF(v) convert_ushort${lanes}(v)
#define ANY(mask) any(mask)
#define IF(mask, bits) ((mask) & (cells_t)(bits))
#define SCORES(row, b) (cells_t)(${", ".join(f"table[row.s{l:x} + b.s{l:x}]" for l in range(lanes))})
#define PAIRS_OF_SCORES(profile, b) (cells_t)(${", ".join(f"profile[{l}][(b)[{l}]]" for l in range(lanes))})
% else:
typedef ${value} cells_t;
typedef uchar letters_t;
#define LOAD(p) (*(p))
#define STORE(v, p) (*(p) = (v))
#define CELLS_OF(v) ((cells_t)(v))
#define CHOICES_OF(v) ((ushort)(v))
#define ANY(mask) (mask)
#define IF(mask, bits) ((mask) ? (bits) : 0)
#define SCORES(row, b) table[row + b]
% endif
#if LOCAL
#define ADD(x, y) ${"add_sat(x, y)" if value == "short" else "((x) + (y))"}
#else
#define ADD(x, y) ((x) + (y))
#endif
#include "sequences/align_jobs.h"
#if PATH
#include "sequences/align_walk.h"
#endif

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void align_tiles(global const uchar *a, global const uchar *b, global const uchar *codes, global const short *scores,
                 const int match, const int mismatch, const int gap_open, const int gap_extend, const int free_ends,
                 const int band, global const uint *jobs, const uint first, const uint count, const int side,
                 const int width, global cell_t *top, global uchar *columns, global int *results, global uint *status
#if TILED
                 , global cell_t *edges, const uint row_slots, const uint column_slots
#endif
#if PATH
                 , global ushort *choices, const int strips, const int choice_width, global int *walks,
                 global uchar *operations
#endif
                 )
{
#if MATRIX
    local short table[CODES * CODES];
    for (int k = get_local_id(0); k < CODES * CODES; k += WG_SIZE)
        table[k] = scores[k];
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    const rules_t rules = {gap_open, gap_extend, free_ends, band};
    const cells_t opened = (cells_t)(gap_open + gap_extend), extended = (cells_t)gap_extend;
    // memory of this work-item: entry k of a group's share has the LANES elements of each of its work-items
    const size_t share = (size_t)get_group_id(0) * WG_SIZE, item = get_local_id(0);
    global cell_t *top_h = top + (2 * share * width + item) * LANES, *top_e = top_h + (size_t)width * WG_SIZE * LANES;
    global uchar *letters = columns + (share * width + item) * LANES;
#define AT(k) ((size_t)(k) * WG_SIZE * LANES)
    for (uint batch = get_global_id(0); batch * LANES < count; batch += get_global_size(0)) {
        // jobs, and their greatest numbers of rows and columns
        job_t job[LANES];
        cell_t lane_rows[LANES], lane_columns[LANES], lane_last[LANES], lane_right[LANES];
        int rows = 0, columns_of_all = 0, first_last = side + 1, last_last = 0, first_right = side + 1, last_right = 0;
        for (int l = 0; l < LANES; ++l) {
            const uint number = batch * LANES + l;
            job[l] = job_of(jobs, first + min(number, count - 1), side);
            if (number >= count)
                job[l].rows = job[l].columns = job[l].n = job[l].m = 0;
            rows = max(rows, job[l].rows);
            columns_of_all = max(columns_of_all, job[l].columns);
            // the last row and column of the whole table, in this tile or beyond it
            const int last = min(job[l].n - job[l].i0, side + 1), right = min(job[l].m - job[l].j0, side + 1);
            first_last = min(first_last, last);
            last_last = max(last_last, last <= side ? last : 0);
            first_right = min(first_right, right);
            last_right = max(last_right, right <= side ? right : 0);
            lane_rows[l] = job[l].rows;
            lane_columns[l] = job[l].columns;
            lane_last[l] = last;
            lane_right[l] = right;
        }
        const cells_t own_rows = LOAD(lane_rows), own_columns = LOAD(lane_columns);
        const cells_t own_last = LOAD(lane_last), own_right = LOAD(lane_right);
#if BANDED
        // within the tile: the least and the most rows that a cell of the band is ahead of its column
        cell_t lane_least[LANES], lane_most[LANES];
        int least_shift = INT_MAX, most_shift = INT_MIN;
        for (int l = 0; l < LANES; ++l) {
            const int shift = job[l].i0 - job[l].j0;
            lane_least[l] = clamp(-band - shift, -side - 1, side + 1);
            lane_most[l] = clamp(band - shift, -side - 1, side + 1);
            if (job[l].rows > 0) {
                least_shift = min(least_shift, shift);
                most_shift = max(most_shift, shift);
            }
        }
        const cells_t least_ahead = LOAD(lane_least), most_ahead = LOAD(lane_most);
#endif
        // the row above the tile, and the letters of b
        uint wrong = 0;
        for (int j = 0; j <= columns_of_all; ++j) {
            uchar letter[LANES];
            for (int l = 0; l < LANES; ++l) {
                letter[l] = PAD;
                if (j > 0 && j <= job[l].columns) {
                    letter[l] = letter_of_b(b, codes, job[l], job[l].j0 + j - 1);
                    wrong |= letter[l] == UNKNOWN;
                }
                letter[l] = min(letter[l], (uchar)PAD);
            }
#if TILED
            cell_t h[LANES], e[LANES];
            for (int l = 0; l < LANES; ++l) {
                h[l] = border(rules, LOCAL || (free_ends & B_BEGIN), job[l].j0 + j, NEVER);
                e[l] = h[l] - gap_open - gap_extend;
                if (job[l].i0 > 0 && j <= job[l].columns) {
                    global const cell_t *edge = row_edge(edges, job[l], job[l].tile_row - 1, row_slots);
                    const bool has = !BANDED || (int)abs(job[l].i0 - job[l].j0 - j) <= band;   // else none was written
                    h[l] = has ? edge[2 * (size_t)(job[l].j0 + j)] : NEVER;
                    e[l] = has ? edge[2 * (size_t)(job[l].j0 + j) + 1] : NEVER;
                }
            }
            STORE(LOAD(h), top_h + AT(j));
            STORE(LOAD(e), top_e + AT(j));
#else
            const cell_t h = border(rules, LOCAL || (free_ends & B_BEGIN), j, NEVER);
            STORE((cells_t)h, top_h + AT(j));
            STORE((cells_t)(cell_t)(h == NEVER ? NEVER : h - gap_open - gap_extend), top_e + AT(j));
#endif
            STORE(LOAD(letter), letters + AT(j));
        }
#if BEST
        cells_t highest = (cells_t)0, end_row = (cells_t)-1, end_column = (cells_t)-1;
#else
        cells_t highest = (cells_t)LOWEST, end_row = (cells_t)-1, end_column = (cells_t)-1;
#endif
        for (int above = 0; above < rows; above += ROWS) {
            cells_t row_letters[ROWS], h[ROWS], f[ROWS];
            #pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                cell_t letter[LANES];
                const int i = above + r + 1;
                for (int l = 0; l < LANES; ++l) {
                    uchar code = PAD;
                    if (i <= job[l].rows) {
                        code = codes[a[job[l].a_begin + job[l].i0 + i - 1]];
                        wrong |= code == UNKNOWN;
                        code = min(code, (uchar)PAD);
                    }
                    letter[l] = MATRIX ? code * CODES : code == PAD ? PAD + 1 : code;
                }
                row_letters[r] = LOAD(letter);
#if TILED
                cell_t left[LANES], gap[LANES];
                for (int l = 0; l < LANES; ++l) {
                    left[l] = border(rules, LOCAL || (free_ends & A_BEGIN), job[l].i0 + i, NEVER);
                    gap[l] = left[l] - gap_open - gap_extend;
                    if (job[l].j0 > 0 && i <= job[l].rows) {
                        global const cell_t *edge = column_edge(edges, job[l], job[l].tile_column - 1, row_slots, column_slots);
                        const bool has = !BANDED || (int)abs(job[l].i0 + i - job[l].j0) <= band;
                        left[l] = has ? edge[2 * (size_t)(job[l].i0 + i)] : NEVER;
                        gap[l] = has ? edge[2 * (size_t)(job[l].i0 + i) + 1] : NEVER;
                    }
                }
                h[r] = LOAD(left);
                f[r] = LOAD(gap);
#else
                const cell_t left = border(rules, LOCAL || (free_ends & A_BEGIN), i, NEVER);
                h[r] = (cells_t)left;
                f[r] = (cells_t)(cell_t)(left == NEVER ? NEVER : left - gap_open - gap_extend);
#endif
            }
#if PROFILE
            short profile[ROWS / 2][LANES][CODES];   // of two rows: the first in the low 8 bits; signed for both
            for (int r = 0; r < ROWS; r += 2)
                for (int l = 0; l < LANES; ++l) {
                    const int x = ((const cell_t *)&row_letters[r])[l], y = ((const cell_t *)&row_letters[r + 1])[l];
                    for (int c = 0; c < CODES; ++c)
                        profile[r / 2][l][c] = (short)((table[x + c] & 255) | table[y + c] * 256);
                }
#endif
            int begin = 1, end = columns_of_all;
#if BANDED
            begin = min(max(1, above + 1 - band + least_shift), columns_of_all + 1);
            end = min(end, above + ROWS + band + most_shift);
            if (begin > 1) {
                #pragma unroll
                for (int r = 0; r < ROWS; ++r)
                    h[r] = f[r] = (cells_t)NEVER;
            }
#endif
            cells_t diagonal = LOAD(top_h + AT(begin - 1));
            if (begin == 1)
                STORE(h[ROWS - 1], top_h);
#if BEST
            cells_t needed = highest + (cells_t)1;   // least score of a cell that may be the end
#else
            const bool has_last = first_last <= above + ROWS && last_last > above;
            const bool any_row = has_last && (free_ends & B_END), any_column = has_last || (free_ends & A_END);
#endif
            for (int j = begin; j <= end; ++j) {
                const cells_t letter = CELLS_OF(LOAD(letters + AT(j))), up = LOAD(top_h + AT(j));
                cells_t e = LOAD(top_e + AT(j)), before = diagonal;
#if BEST
                cells_t column_best = (cells_t)0;
#endif
                diagonal = up;
#if PROFILE
                cells_t two;
#endif
#if PATH
                ushort${lanes if lanes > 1 else ''} packed[ROWS / 4];
#endif
                #pragma unroll
                for (int r = 0; r < ROWS; ++r) {
#if PROFILE
                    if (r % 2 == 0)
                        two = PAIRS_OF_SCORES(profile[r / 2], letters + AT(j));
                    const cells_t score = (r % 2 ? two : two << (cells_t)(8 * sizeof(cell_t) - 8)) >> (cells_t)(r % 2 ? 8 : 8 * sizeof(cell_t) - 8);
#elif MATRIX
                    const cells_t score = SCORES(row_letters[r], letter);
#else
                    const cells_t score = row_letters[r] == letter ? (cells_t)match : (cells_t)mismatch;
#endif
                    const cells_t matched = ADD(before, score);
                    cells_t now = max(max(matched, e), f[r]);
#if LOCAL
                    now = max(now, (cells_t)0);
#endif
#if BANDED
                    const cells_t ahead = (cells_t)(above + r + 1 - j), outside = (ahead > most_ahead) | (ahead < least_ahead);
                    now = SELECT(now, (cells_t)NEVER, outside);
#endif
                    const cells_t open = now - opened, longer_e = e - extended, longer_f = f[r] - extended;
#if PATH
                    cells_t choice = IF(now != matched, select((cells_t)BY_F, (cells_t)BY_E, now == e));
#if LOCAL
                    choice = select(choice, (cells_t)STOP, now == (cells_t)0);
#endif
                    choice |= IF(longer_e > open, LONGER_E) | IF(longer_f > open, LONGER_F);
                    if (r % 4 == 0)
                        packed[r / 4] = CHOICES_OF(choice);
                    else
                        packed[r / 4] |= CHOICES_OF(choice) << (ushort)(4 * (r % 4));
#endif
                    e = max(longer_e, open);
                    f[r] = max(longer_f, open);
#if BANDED
                    e = SELECT(e, (cells_t)NEVER, outside);
                    f[r] = SELECT(f[r], (cells_t)NEVER, outside);
#endif
                    before = h[r];
                    h[r] = now;
#if BEST
                    column_best = max(column_best, now);
#endif
                }
                STORE(h[ROWS - 1], top_h + AT(j));
                STORE(e, top_e + AT(j));
#if PATH
                #pragma unroll
                for (int q = 0; q < ROWS / 4; ++q) {
                    const size_t entry = choice_entry(above / 4 + q, j - (TILED ? 1 : begin), choice_width);
                    STORE(packed[q], choices + (share * strips * choice_width + item) * LANES + AT(entry));
                }
#endif
#if BEST
                if (ANY(column_best >= needed)) {
#else
                if (any_row || (any_column && j >= first_right && j <= last_right)) {
#endif
                    #pragma unroll
                    for (int r = 0; r < ROWS; ++r) {
                        const cells_t i = (cells_t)(above + r + 1), column = (cells_t)j;
#if BEST
                        const cells_t is_end = (i <= own_rows) & (column <= own_columns);
#else
                        const cells_t in_last = i == own_last, in_right = column == own_right;
                        const cells_t is_end = (in_last & in_right) | IF(in_last & (column <= own_columns), free_ends & B_END ? -1 : 0)
                                             | IF(in_right & (i <= own_rows), free_ends & A_END ? -1 : 0);
#endif
                        const cells_t better = is_end & ((h[r] > highest) | ((h[r] == highest) & (i < end_row)));
                        highest = SELECT(highest, h[r], better);
                        end_row = SELECT(end_row, i, better);
                        end_column = SELECT(end_column, column, better);
#if BEST
                        needed = SELECT(needed, h[r], better);
#endif
                    }
                }
            }
#if TILED && !PATH
            for (int l = 0; l < LANES; ++l)
                if (job[l].j0 + job[l].columns < job[l].m) {
                    global cell_t *edge = column_edge(edges, job[l], job[l].tile_column, row_slots, column_slots);
                    for (int r = 0; r < ROWS && above + r < job[l].rows; ++r) {
                        edge[2 * (size_t)(job[l].i0 + above + r + 1)] = ((const cell_t *)&h[r])[l];
                        edge[2 * (size_t)(job[l].i0 + above + r + 1) + 1] = ((const cell_t *)&f[r])[l];
                    }
                }
#endif
        }
        if (wrong)
            status[0] = 1;
#if TILED && !PATH
        for (int l = 0; l < LANES; ++l)
            if (job[l].i0 + job[l].rows < job[l].n) {
                global cell_t *edge = row_edge(edges, job[l], job[l].tile_row, row_slots);
                for (int j = 0; j <= job[l].columns; ++j)
                    if (j > 0 || job[l].j0 == 0) {
                        edge[2 * (size_t)(job[l].j0 + j)] = top_h[AT(j) + l];
                        edge[2 * (size_t)(job[l].j0 + j) + 1] = top_e[AT(j) + l];
                    }
            }
#endif
        for (int l = 0; l < LANES && batch * LANES + l < count; ++l) {
#if PATH
            walk(rules, a, b, codes, job[l], choices + (share * strips * choice_width + item) * LANES + l, choice_width,
                 walks + 4 * (size_t)job[l].slot, operations);
#if TILED
            continue;   // the score is known
#endif
#endif
            global int *result = results + 3 * (size_t)job[l].slot;
            result[0] = ((const cell_t *)&highest)[l];
            result[1] = job[l].i0 + ((const cell_t *)&end_row)[l];
            result[2] = job[l].j0 + ((const cell_t *)&end_column)[l];
        }
    }
}
