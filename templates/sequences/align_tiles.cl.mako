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
typedef ushort${lanes} choices_t;
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
typedef ushort choices_t;
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
#define AT(k) ((size_t)(k) * WG_SIZE * LANES)   // entry k of a work-item's memory
#include "sequences/align_jobs.h"
#if PATH
#define CHOICE_STRIDE (WG_SIZE * LANES)
#include "sequences/align_walk.h"
#endif
#include "sequences/align_steps.h"

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
#if !TILED
    global cell_t *edges = 0;
    const uint row_slots = 0, column_slots = 0;
#endif
    const rules_t rules = {gap_open, gap_extend, free_ends, band};
    const cells_t opened = (cells_t)(gap_open + gap_extend), extended = (cells_t)gap_extend;
    // memory of this work-item: entry k of a group's share has the LANES elements of each of its work-items
    const size_t share = (size_t)get_group_id(0) * WG_SIZE, item = get_local_id(0);
    global cell_t *top_h = top + (2 * share * width + item) * LANES, *top_e = top_h + AT(width);
    global uchar *letters = columns + (share * width + item) * LANES;
#if PATH
    global ushort *own_choices = choices + (share * strips * choice_width + item) * LANES;
#endif
    for (uint batch = get_global_id(0); batch * LANES < count; batch += get_global_size(0)) {
        job_t job[LANES];
        const lanes_t lanes = take_jobs(job, jobs, first, batch * LANES, count, side, band);
        uint wrong = begin_columns(job, lanes.columns, rules, b, codes, edges, row_slots, top_h, top_e, letters);
        ends_t ends = {(cells_t)(BEST ? 0 : LOWEST), (cells_t)-1, (cells_t)-1, (cells_t)0};
        for (int above = 0; above < lanes.rows; above += ROWS) {
            cells_t row_letters[ROWS], h[ROWS], f[ROWS];
            wrong |= begin_strip(row_letters, h, f, job, above, rules, a, codes, edges, row_slots, column_slots);
#if PROFILE
            short profile[ROWS / 2][LANES][CODES];
            fill_profile(profile, row_letters, table);
#endif
            int begin = 1, end = lanes.columns;
#if BANDED
            begin = min(max(1, above + 1 - band + lanes.least_shift), lanes.columns + 1);
            end = min(end, above + ROWS + band + lanes.most_shift);
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
            ends.needed = ends.highest + (cells_t)1;
#else
            const bool has_last = lanes.first_last <= above + ROWS && lanes.last_last > above;
            const bool any_row = has_last && (free_ends & B_END), any_column = has_last || (free_ends & A_END);
#endif
            for (int j = begin; j <= end; ++j) {
                const cells_t letter = CELLS_OF(LOAD(letters + AT(j))), up = LOAD(top_h + AT(j));
                cells_t e = LOAD(top_e + AT(j)), before = diagonal, choice, two;
                cells_t outside = (cells_t)0, column_best = (cells_t)0;
                choices_t packed[ROWS / 4];
                diagonal = up;
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
#if BANDED
                    const cells_t ahead = (cells_t)(above + r + 1 - j);
                    outside = (ahead > lanes.most_ahead) | (ahead < lanes.least_ahead);
#endif
                    const cells_t now = fill_cell(before, score, &e, &f[r], opened, extended, outside, &choice);
#if PATH
                    if (r % 4 == 0)
                        packed[r / 4] = CHOICES_OF(choice);
                    else
                        packed[r / 4] |= CHOICES_OF(choice) << (ushort)(4 * (r % 4));
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
                for (int q = 0; q < ROWS / 4; ++q)
                    STORE(packed[q], own_choices + AT(choice_entry(above / 4 + q, j - (TILED ? 1 : begin), choice_width)));
#endif
#if BEST
                if (ANY(column_best >= ends.needed))
#else
                if (any_row || (any_column && j >= lanes.first_right && j <= lanes.last_right))
#endif
                    note_ends(&ends, h, above, j, &lanes, free_ends);
            }
#if TILED && !PATH
            write_right_edge(h, f, job, above, edges, row_slots, column_slots);
#endif
        }
        if (wrong)
            status[0] = 1;
#if TILED && !PATH
        write_lower_edge(job, top_h, top_e, edges, row_slots);
#endif
        cell_t lane_score[LANES], lane_row[LANES], lane_column[LANES];
        STORE(ends.highest, lane_score);
        STORE(ends.row, lane_row);
        STORE(ends.column, lane_column);
        for (int l = 0; l < LANES && batch * LANES + l < count; ++l) {
#if PATH
            walk(rules, a, b, codes, job[l], own_choices + l, choice_width, walks + 4 * (size_t)job[l].slot, operations);
#endif
#if !(PATH && TILED)   // there the score is known
            global int *result = results + 3 * (size_t)job[l].slot;
            result[0] = lane_score[l];
            result[1] = job[l].i0 + lane_row[l];
            result[2] = job[l].j0 + lane_column[l];
#endif
        }
    }
}
