<%page args="local=False, matrix=False, keep=False, chunk=16, variant='group', wg_size=32, items_per_thread=8"/>\
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
// Work: about 12 instructions a cell; 16 bytes of local memory are read and written for COLUMNS * ROWS cells.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define ROWS ${items_per_thread}
#define COLUMNS 4
#define CHUNK ${chunk}            // steps
#define KEEP ${int(keep)}
#define LOCAL ${int(local)}
#define BEST LOCAL
#define MATRIX ${int(matrix)}
#define PROFILE 0
#define BANDED 0
#define TILED 0
#define PATH 0
#define LANES 1
typedef int cell_t;
typedef int cells_t;
typedef ushort choices_t;
#define LOWEST (-2147483647 - 1)
#define NEVER (LOWEST / 2)
#define LOAD(p) (*(p))
#define STORE(v, p) (*(p) = (v))
#define IF(mask, bits) ((mask) ? (bits) : 0)
#define ADD(x, y) ((x) + (y))
#define AT(k) ((size_t)(k))
#include "sequences/align_jobs.h"
#include "sequences/align_steps.h"
#include "dp/dp_tickets.h"

kernel CLGEOM_NARROW __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void align_sweep(global const uchar *a, global const uchar *b, global const uchar *codes, global const short *scores,
                 const int match, const int mismatch, const int gap_open, const int gap_extend, const int free_ends,
                 global const uint *jobs, const uint first, global int *results, global uint *status,
                 global int *edges, const uint row_slots, const uint column_slots,
                 volatile global int *progress, const int patience)
{
    local int passed_h[2][COLUMNS][WG_SIZE], passed_e[2][COLUMNS][WG_SIZE];
    local uint passed_codes[2][WG_SIZE], codes_above[CHUNK];
    local int h_above[CHUNK * COLUMNS], e_above[CHUNK * COLUMNS], h_below[CHUNK * COLUMNS], e_below[CHUNK * COLUMNS];
    local int ticket, given_up;
    const int lid = get_local_id(0), side = WG_SIZE * ROWS;
#if MATRIX
    local short table[CODES * CODES];
    for (int k = lid; k < CODES * CODES; k += WG_SIZE)
        table[k] = scores[k];
#endif
    if (lid == 0)
        given_up = 0;
    const int strip = take_ticket(progress, &ticket);
    job_t job = job_of(jobs, first + strip, side);
    job.columns = job.m;
    const rules_t rules = {gap_open, gap_extend, free_ends, 1 << 30};
    const cells_t opened = gap_open + gap_extend, extended = gap_extend;
    const bool a_free = LOCAL || (free_ends & A_BEGIN), b_free = LOCAL || (free_ends & B_BEGIN);
    const bool is_first = job.tile_row == 0, is_last = job.i0 + side >= job.n;
    const int before_it = is_first || strip == 0 ? -1 : strip - 1;      // the strip to wait for
    volatile global const int *upper = row_edge(edges, job, is_first ? 0 : job.tile_row - 1, row_slots);
    volatile global int *lower = row_edge(edges, job, job.tile_row, row_slots);
    const int above = lid * ROWS, m = job.m, all_blocks = (m + COLUMNS - 1) / COLUMNS;
    cells_t row_letters[ROWS], h[ROWS], f[ROWS];
    uint wrong = begin_strip(row_letters, h, f, &job, above, rules, a, codes, 0, 0, 0);
    #pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        h[r] = border(rules, a_free, job.i0 + above + r + 1, NEVER);
        f[r] = h[r] - opened;
    }
    cells_t diagonal = border(rules, a_free, job.i0 + above, NEVER);
    lanes_t lanes;
    lanes.own_rows = job.rows;
    lanes.own_columns = lanes.own_right = m;
    lanes.own_last = min(job.n - job.i0, side + 1);
    ends_t ends = {BEST ? 0 : LOWEST, -1, -1, BEST};
    const bool any_row = !BEST && (free_ends & B_END) && lanes.own_last > above && lanes.own_last <= above + ROWS;
    bool gone = false;                                       // the same for all items
    for (int begin = 0; begin < all_blocks + WG_SIZE - 1 && !gone; begin += CHUNK) {
        gone = wait_for(progress, before_it, min(begin + CHUNK, all_blocks), patience, &given_up);
        for (int k = lid; k < CHUNK * COLUMNS; k += WG_SIZE) {
            const int j = begin * COLUMNS + k + 1;
            if (j <= m) {
                const int top = border(rules, b_free, j, NEVER);
                h_above[k] = is_first ? top : upper[2 * (size_t)j];
                e_above[k] = is_first ? top - opened : upper[2 * (size_t)j + 1];
            }
        }
        for (int k = lid; k < CHUNK; k += WG_SIZE) {
            uint four = 0;
            for (int c = 0; c < COLUMNS; ++c) {
                const int j = (begin + k) * COLUMNS + c;
                uchar code = PAD;
                if (j < m) {
                    code = letter_of_b(b, codes, job, j);
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
                cells_t block_h[COLUMNS], block_e[COLUMNS], column_best[COLUMNS];
                #pragma unroll
                for (int c = 0; c < COLUMNS; ++c) {
                    block_h[c] = lid == 0 ? h_above[at + c] : passed_h[from][c][over];
                    block_e[c] = lid == 0 ? e_above[at + c] : passed_e[from][c][over];
                }
                #pragma unroll
                for (int c = 0; c < COLUMNS; ++c) {
                    const cells_t letter = four >> (8 * c) & 255, up = block_h[c];
                    cells_t e = block_e[c], before = diagonal, choice;
                    diagonal = up;
                    column_best[c] = 0;
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
#if BEST
                        column_best[c] = max(column_best[c], now);
#endif
                    }
                    block_h[c] = h[ROWS - 1];
                    block_e[c] = e;
                    const int j = block * COLUMNS + c + 1;
#if BEST
                    if (column_best[c] >= ends.needed)
#else
                    if (any_row || j == m)
#endif
                        note_ends(&ends, h, above, j, &lanes, free_ends);
                }
                #pragma unroll
                for (int c = 0; c < COLUMNS; ++c) {
                    if (lid == WG_SIZE - 1) {
                        h_below[at + c] = block_h[c];
                        e_below[at + c] = block_e[c];
                    } else {
                        passed_h[to][c][lid] = block_h[c];
                        passed_e[to][c][lid] = block_e[c];
                    }
                }
                passed_codes[to][lid] = four;
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
        // the last item is WG_SIZE - 1 steps behind
        for (int k = lid; k < CHUNK * COLUMNS && !gone && !is_last; k += WG_SIZE) {
            const int j = (begin - (WG_SIZE - 1)) * COLUMNS + k + 1;
            if (j >= 1 && j <= m) {
                lower[2 * (size_t)j] = h_below[k];
                lower[2 * (size_t)j + 1] = e_below[k];
            }
        }
        hand_on(progress, strip, min(begin + CHUNK - (WG_SIZE - 1), all_blocks), gone);
    }
    if (lid == WG_SIZE - 1 && KEEP && !is_last) {            // the column before the first one
        lower[0] = border(rules, a_free, job.i0 + side, NEVER);
        lower[1] = lower[0] - opened;
    }
    if (wrong)
        status[0] = 1;
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
}
