<%page args="local=False, matrix=False, keep=False, path=False, chunk=16, variant='group', wg_size=32, items_per_thread=8"/>\
// align_sweep: tables of long pairs with affine gaps in one launch: scores and ends, and the edges of tiles for tracebacks.
//
//            b        | 4 columns | 4 | ..      a strip: WG_SIZE * ROWS rows of a pair, all columns
//   item 0   ROWS rows|     1     | 2 |  3      numbers: steps. At each an item takes the next block of COLUMNS columns
//   item 1            |     2     | 3 |  4      of its own rows, with H and E of the item above: below the block
//   item 2            |     3     | 4 |  5
//
// A group takes the next strip by a ticket, those of a pair one after another, and keeps H and F of its rows in registers.
// Every CHUNK steps it waits for what the strip above has handed on, and hands on its own (dp/dp_tickets.h). The first
// strip of a launch finds the row above in `edges`. A group that gives up sets the last word of `progress`, and the results
// are not valid. A strip is a row of tiles: with `keep` all rows of edges have their own slots, and the columns between
// tiles are written, too. Else all strips of a pair use one row, each after the one above.
% if path:
// With `path` a group fills a tile again, from its edges, stores the choices of all cells, 4 bits each, and follows the
// traceback through it.
% endif
// Work: about 12 instructions a cell; 16 bytes of local memory are read and written for COLUMNS * ROWS cells.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define ROWS ${items_per_thread}
#define COLUMNS 4
#define CHUNK ${chunk}            // steps
#define KEEP ${int(keep)}
#define LOCAL ${int(local)}
#define BEST ${int(local and not path)}
#define MATRIX ${int(matrix)}
#define PROFILE 0
#define BANDED 0
#define TILED 0
#define PATH ${int(path)}
#define LANES 1
typedef int cell_t;
typedef int cells_t;
typedef ushort choices_t;
#define LOWEST (-2147483647 - 1)
#define NEVER (LOWEST / 2)
#define LOAD(p) (*(p))
#define STORE(v, p) (*(p) = (v))
#define CHOICES_OF(v) ((ushort)(v))
#define IF(mask, bits) ((mask) ? (bits) : 0)
#define ADD(x, y) ((x) + (y))
#define AT(k) ((size_t)(k))
#include "sequences/align_jobs.h"
#if PATH
#define CHOICE_STRIDE 1
#include "sequences/align_walk.h"
#endif
#include "sequences/align_steps.h"
#include "dp/dp_tickets.h"

<%def name="block(noting)">
                #pragma unroll
                for (int c = 0; c < COLUMNS; ++c) {
                    const cells_t letter = four >> (8 * c) & 255;
                    cells_t e = e_in[c], before = diagonal, choice;
                    diagonal = h_in[c];
                    #pragma unroll
                    for (int r = 0; r < ROWS; ++r) {
#if MATRIX
                        const cells_t score = table[row_letters[r] + letter];
#else
                        const cells_t score = row_letters[r] == letter ? match : mismatch;
#endif
                        const cells_t now = fill_cell(before, score, &e, &f[r], opened, extended, 0, &choice);
                        before = h[r];
                        h[r] = now;
% if local and not path and not noting:
                        best = max(best, now);
% endif
% if path:
                        if (r % 4 == 0)
                            packed[r / 4][c] = CHOICES_OF(choice);
                        else
                            packed[r / 4][c] |= CHOICES_OF(choice) << (ushort)(4 * (r % 4));
% endif
                    }
                    h_out[c] = h[ROWS - 1];
                    e_out[c] = e;
% if noting:
                    const int j = block * COLUMNS + c + 1;
                    if (BEST || any_row || j == m)
                        note_ends(&ends, h, above, j, &lanes, free_ends);
% endif
                }
</%def>\
kernel CLGEOM_NARROW __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void align_sweep(global const uchar *a, global const uchar *b, global const uchar *codes, global const short *scores,
                 const int match, const int mismatch, const int gap_open, const int gap_extend, const int free_ends,
                 global const uint *jobs, const uint first, global uint *status,
                 global int *edges, const uint row_slots, const uint column_slots,
#if PATH
                 global ushort *choices, global int *walks, global uchar *operations)
#else
                 global int *results, volatile global int *progress, const int patience)
#endif
{
    local int passed_h[2][COLUMNS][WG_SIZE], passed_e[2][COLUMNS][WG_SIZE];
    local uint passed_codes[2][WG_SIZE], codes_above[CHUNK];
    local int h_above[CHUNK * COLUMNS], e_above[CHUNK * COLUMNS], h_below[CHUNK * COLUMNS], e_below[CHUNK * COLUMNS];
#if !PATH
    local int ticket, given_up;
#endif
    const int lid = get_local_id(0), side = WG_SIZE * ROWS;
#if MATRIX
    local short table[CODES * CODES];
    for (int k = lid; k < CODES * CODES; k += WG_SIZE)
        table[k] = scores[k];
#endif
#if PATH
    barrier(CLK_LOCAL_MEM_FENCE);
    const int strip = get_group_id(0);
    const job_t job = job_of(jobs, first + strip, side);
#else
    if (lid == 0)
        given_up = 0;
    const int strip = take_ticket(progress, &ticket);
    job_t job = job_of(jobs, first + strip, side);
    job.columns = job.m;
#endif
    const rules_t rules = {gap_open, gap_extend, free_ends, 1 << 30};
    const cells_t opened = gap_open + gap_extend, extended = gap_extend;
    const bool a_free = LOCAL || (free_ends & A_BEGIN), b_free = LOCAL || (free_ends & B_BEGIN);
    const bool is_first = job.tile_row == 0;
    volatile global const int *upper = row_edge(edges, job, is_first ? 0 : job.tile_row - 1, row_slots);
#if !PATH
    const bool is_last = job.i0 + side >= job.n;
    const int before_it = is_first || strip == 0 ? -1 : strip - 1;      // the strip to wait for
    volatile global int *lower = row_edge(edges, job, job.tile_row, row_slots);
#endif
    const int above = lid * ROWS, m = job.columns, all_blocks = (m + COLUMNS - 1) / COLUMNS;
    cells_t row_letters[ROWS], h[ROWS], f[ROWS];
    uint wrong = begin_strip(row_letters, h, f, &job, above, rules, a, codes, 0, 0, 0);
    cells_t diagonal = border(rules, a_free, job.i0 + above, NEVER);
    #pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        h[r] = border(rules, a_free, job.i0 + above + r + 1, NEVER);
        f[r] = h[r] - opened;
    }
#if PATH
    if (job.j0 > 0) {
        global const int *left = column_edge(edges, job, job.tile_column - 1, row_slots, column_slots) + 2 * (size_t)job.i0;
        #pragma unroll
        for (int r = 0; r < ROWS; ++r)
            if (above + r < job.rows)
                read_edge(&h[r], &f[r], rules, a_free, left, above + r + 1, 0);
        if (lid > 0 && above <= job.rows)
            diagonal = left[2 * above];
        else if (lid == 0)
            diagonal = is_first ? border(rules, b_free, job.j0, NEVER) : upper[2 * (size_t)job.j0];
    }
#endif
#if PATH
    bool gone = false;
    choices += (size_t)strip * side * side / 4;
#else
    lanes_t lanes;
    lanes.own_rows = job.rows;
    lanes.own_columns = lanes.own_right = m;
    lanes.own_last = min(job.n - job.i0, side + 1);
    ends_t ends = {BEST ? 0 : LOWEST, -1, -1, BEST};
    const bool any_row = !BEST && (free_ends & B_END) && lanes.own_last > above && lanes.own_last <= above + ROWS;
    bool gone = false;                                       // the same for all items
#endif
    for (int begin = 0; begin < all_blocks + WG_SIZE - 1 && !gone; begin += CHUNK) {
#if PATH
        barrier(CLK_LOCAL_MEM_FENCE);                        // all items have read what is there
#else
        gone = wait_for(progress, before_it, min(begin + CHUNK, all_blocks), patience, &given_up);
#endif
        for (int k = lid; k < CHUNK * COLUMNS; k += WG_SIZE) {
            const int j = begin * COLUMNS + k + 1;
            if (j <= m) {
                const int top = border(rules, b_free, job.j0 + j, NEVER);
                h_above[k] = is_first ? top : upper[2 * (size_t)(job.j0 + j)];
                e_above[k] = is_first ? top - opened : upper[2 * (size_t)(job.j0 + j) + 1];
            }
        }
        for (int k = lid; k < CHUNK; k += WG_SIZE) {
            uint four = 0;
            for (int c = 0; c < COLUMNS; ++c) {
                const int j = (begin + k) * COLUMNS + c;
                uchar code = PAD;
                if (j < m) {
                    code = letter_of_b(b, codes, job, job.j0 + j);
                    wrong |= code == UNKNOWN;
                }
                four |= (uint)min(code, (uchar)PAD) << (8 * c);
            }
            codes_above[k] = four;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int step = begin; step < begin + CHUNK; ++step) {
            const int block = step - lid;
            if (block >= 0 && block < all_blocks) {
                const int from = (step + 1) & 1, to = step & 1, over = max(lid - 1, 0), at = (step - begin) * COLUMNS;
                const uint four = lid == 0 ? codes_above[step - begin] : passed_codes[from][over];
                cells_t h_in[COLUMNS], e_in[COLUMNS], h_out[COLUMNS], e_out[COLUMNS];
#if PATH
                ushort packed[ROWS / 4][COLUMNS];
#endif
                #pragma unroll
                for (int c = 0; c < COLUMNS; ++c) {
                    h_in[c] = lid == 0 ? h_above[at + c] : passed_h[from][c][over];
                    e_in[c] = lid == 0 ? e_above[at + c] : passed_e[from][c][over];
                }
#if BEST
                cells_t old_h[ROWS], old_f[ROWS], best = 0;
                const cells_t old_diagonal = diagonal;
                #pragma unroll
                for (int r = 0; r < ROWS; ++r) {
                    old_h[r] = h[r];
                    old_f[r] = f[r];
                }
                ${block(noting=False)}
                if (best >= ends.needed) {                   // once more, with a look at all ends
                    diagonal = old_diagonal;
                    #pragma unroll
                    for (int r = 0; r < ROWS; ++r) {
                        h[r] = old_h[r];
                        f[r] = old_f[r];
                    }
                    ${block(noting=True)}
                }
#elif PATH
                ${block(noting=False)}
#else
                if (any_row || block * COLUMNS + COLUMNS >= m) {
                    ${block(noting=True)}
                } else {
                    ${block(noting=False)}
                }
#endif
                #pragma unroll
                for (int c = 0; c < COLUMNS; ++c) {
                    if (lid == WG_SIZE - 1) {
                        h_below[at + c] = h_out[c];
                        e_below[at + c] = e_out[c];
                    } else {
                        passed_h[to][c][lid] = h_out[c];
                        passed_e[to][c][lid] = e_out[c];
                    }
                }
                passed_codes[to][lid] = four;
#if PATH
                for (int q = 0; q < ROWS / 4; ++q)
                    for (int c = 0; c < COLUMNS; ++c)
                        choices[choice_entry(above / 4 + q, block * COLUMNS + c, side)] = packed[q][c];
#endif
#if KEEP
                const int right = (block + 1) * COLUMNS;     // the last column of a tile, if its side divides it
                if (right % side == 0 && right < m) {
                    global int *edge = column_edge(edges, job, right / side - 1, row_slots, column_slots);
                    for (int r = 0; r < ROWS && above + r < job.rows; ++r) {
                        edge[2 * (size_t)(job.i0 + above + r + 1)] = h[r];
                        edge[2 * (size_t)(job.i0 + above + r + 1) + 1] = f[r];
                    }
                }
#endif
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
#if !PATH
        // the last item is WG_SIZE - 1 steps behind
        for (int k = lid; k < CHUNK * COLUMNS && !gone && !is_last; k += WG_SIZE) {
            const int j = (begin - (WG_SIZE - 1)) * COLUMNS + k + 1;
            if (j >= 1 && j <= m) {
                lower[2 * (size_t)j] = h_below[k];
                lower[2 * (size_t)j + 1] = e_below[k];
            }
        }
        hand_on(progress, strip, min(begin + CHUNK - (WG_SIZE - 1), all_blocks), gone);
#endif
    }
    if (wrong)
        status[0] = 1;
#if PATH
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (lid == 0)
        walk(rules, a, b, codes, job, choices, side, walks + 4 * (size_t)job.slot, operations);
#else
    if (lid == WG_SIZE - 1 && KEEP && !is_last) {            // the column before the first one
        lower[0] = border(rules, a_free, job.i0 + side, NEVER);
        lower[1] = lower[0] - opened;
    }
    // the best end of the group: of equal ones that with the least row, then the least column
    passed_h[0][0][lid] = ends.highest;
    passed_h[0][1][lid] = ends.row;
    passed_h[0][2][lid] = ends.column;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) {
        int best = 0;
        for (int k = 1; k < WG_SIZE; ++k) {                  // rows grow from item to item
            const bool none = passed_h[0][1][best] < 0;
            if (passed_h[0][0][k] > passed_h[0][0][best] || (none && passed_h[0][1][k] >= 0))
                best = k;
        }
        global int *result = results + 3 * (size_t)(first + strip);
        result[0] = passed_h[0][0][best];
        result[1] = job.i0 + passed_h[0][1][best];
        result[2] = passed_h[0][2][best];
    }
#endif
}
