// align_steps.h: the steps of align_tiles, in the order in which the kernel takes them. It defines the macros, cell_t,
// cells_t and choices_t, and includes align_jobs.h.
//
// Arrays that are indexed by lanes, whose elements compilers keep in memory, are apart from those of registers.

// The jobs of a vector, together.
typedef struct {
    int rows, columns;                                     // the most of a lane
    int first_last, last_last, first_right, last_right;    // least and greatest last row and column of whole tables
    cells_t own_rows, own_columns, own_last, own_right;    // the same of each lane
#if BANDED
    cells_t least_ahead, most_ahead;                       // of a cell of the band: rows that it is ahead of its column
    int least_shift, most_shift;
#endif
} lanes_t;

// The best score so far of each lane, its cell, and the least score of a cell that may be the end.
typedef struct { cells_t highest, row, column, needed; } ends_t;

// Jobs `taken` and the next ones of `count`; lanes beyond the last one have no rows.
inline lanes_t take_jobs(job_t *job, global const uint *jobs, const uint first, const uint taken, const uint count,
                         const int side, const int band)
{
    cell_t rows[LANES], columns[LANES], last[LANES], right[LANES];
    lanes_t lanes;
    lanes.rows = lanes.columns = lanes.last_last = lanes.last_right = 0;
    lanes.first_last = lanes.first_right = side + 1;
    for (int l = 0; l < LANES; ++l) {
        const uint number = taken + l;
        job[l] = job_of(jobs, first + min(number, count - 1), side);
        if (number >= count)
            job[l].rows = job[l].columns = job[l].n = job[l].m = 0;
        // the last row and column of the whole table, in this tile or beyond it
        const int last_row = min(job[l].n - job[l].i0, side + 1), last_column = min(job[l].m - job[l].j0, side + 1);
        lanes.rows = max(lanes.rows, job[l].rows);
        lanes.columns = max(lanes.columns, job[l].columns);
        lanes.first_last = min(lanes.first_last, last_row);
        lanes.last_last = max(lanes.last_last, last_row <= side ? last_row : 0);
        lanes.first_right = min(lanes.first_right, last_column);
        lanes.last_right = max(lanes.last_right, last_column <= side ? last_column : 0);
        rows[l] = job[l].rows;
        columns[l] = job[l].columns;
        last[l] = last_row;
        right[l] = last_column;
    }
    lanes.own_rows = LOAD(rows);
    lanes.own_columns = LOAD(columns);
    lanes.own_last = LOAD(last);
    lanes.own_right = LOAD(right);
#if BANDED
    cell_t least[LANES], most[LANES];
    lanes.least_shift = INT_MAX;
    lanes.most_shift = INT_MIN;
    for (int l = 0; l < LANES; ++l) {
        const int shift = job[l].i0 - job[l].j0;
        least[l] = clamp(-band - shift, -side - 1, side + 1);
        most[l] = clamp(band - shift, -side - 1, side + 1);
        if (job[l].rows > 0) {
            lanes.least_shift = min(lanes.least_shift, shift);
            lanes.most_shift = max(lanes.most_shift, shift);
        }
    }
    lanes.least_ahead = LOAD(least);
    lanes.most_ahead = LOAD(most);
#endif
    return lanes;
}

// H and the gap of cell k of an edge: as the tile beside it has written them, or of the border of the table where there
// is none. `corner` is the row of a lower edge, the column of a right one.
inline void read_edge(cell_t *h, cell_t *gap, const rules_t rules, const bool is_free, global const cell_t *edge,
                      const int k, const int corner)
{
    *h = border(rules, is_free, k, NEVER);
    *gap = *h - rules.gap_open - rules.gap_extend;
    if (edge) {
        const bool has = !BANDED || (int)abs(corner - k) <= rules.band;   // else none was written
        *h = has ? edge[2 * (size_t)k] : NEVER;
        *gap = has ? edge[2 * (size_t)k + 1] : NEVER;
    }
}

// The same of all lanes, for pairs that are a tile each.
inline void read_border(cells_t *h, cells_t *gap, const rules_t rules, const bool is_free, const int k)
{
    const cell_t value = border(rules, is_free, k, NEVER);
    *h = (cells_t)value;
    *gap = (cells_t)(cell_t)(value == NEVER ? NEVER : value - rules.gap_open - rules.gap_extend);
}

// Write the row above the tile, and the letters of b. Returns whether a letter is outside the alphabet.
inline uint begin_columns(const job_t *job, const int columns, const rules_t rules, global const uchar *b,
                          global const uchar *codes, global cell_t *edges, const uint row_slots, global cell_t *top_h,
                          global cell_t *top_e, global uchar *letters)
{
    const bool is_free = LOCAL || (rules.free_ends & B_BEGIN);
    uint wrong = 0;
    for (int j = 0; j <= columns; ++j) {
        uchar letter[LANES];
        for (int l = 0; l < LANES; ++l) {
            letter[l] = PAD;
            if (j > 0 && j <= job[l].columns) {
                letter[l] = letter_of_b(b, codes, job[l], job[l].j0 + j - 1);
                wrong |= letter[l] == UNKNOWN;
            }
            letter[l] = min(letter[l], (uchar)PAD);
        }
        cells_t h, e;
#if TILED
        cell_t lane_h[LANES], lane_e[LANES];
        for (int l = 0; l < LANES; ++l) {
            global const cell_t *edge = 0;
            if (job[l].i0 > 0 && j <= job[l].columns)
                edge = row_edge(edges, job[l], job[l].tile_row - 1, row_slots);
            read_edge(&lane_h[l], &lane_e[l], rules, is_free, edge, job[l].j0 + j, job[l].i0);
        }
        h = LOAD(lane_h);
        e = LOAD(lane_e);
#else
        read_border(&h, &e, rules, is_free, j);
#endif
        STORE(h, top_h + AT(j));
        STORE(e, top_e + AT(j));
        STORE(LOAD(letter), letters + AT(j));
    }
    return wrong;
}

// The letters of a strip's rows, and H and F left of it. Returns whether a letter is outside the alphabet.
inline uint begin_strip(cells_t *row_letters, cells_t *h, cells_t *f, const job_t *job, const int above,
                        const rules_t rules, global const uchar *a, global const uchar *codes, global cell_t *edges,
                        const uint row_slots, const uint column_slots)
{
    const bool is_free = LOCAL || (rules.free_ends & A_BEGIN);
    uint wrong = 0;
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
        cell_t lane_h[LANES], lane_f[LANES];
        for (int l = 0; l < LANES; ++l) {
            global const cell_t *edge = 0;
            if (job[l].j0 > 0 && i <= job[l].rows)
                edge = column_edge(edges, job[l], job[l].tile_column - 1, row_slots, column_slots);
            read_edge(&lane_h[l], &lane_f[l], rules, is_free, edge, job[l].i0 + i, job[l].j0);
        }
        h[r] = LOAD(lane_h);
        f[r] = LOAD(lane_f);
#else
        read_border(&h[r], &f[r], rules, is_free, i);
#endif
    }
    return wrong;
}

#if PROFILE
// The scores of the strip's letters against each code, of two rows: the first in the low 8 bits; signed for both.
inline void fill_profile(short profile[ROWS / 2][LANES][CODES], const cells_t *row_letters, local const short *table)
{
    for (int r = 0; r < ROWS; r += 2)
        for (int l = 0; l < LANES; ++l) {
            const int x = ((const cell_t *)&row_letters[r])[l], y = ((const cell_t *)&row_letters[r + 1])[l];
            for (int c = 0; c < CODES; ++c)
                profile[r / 2][l][c] = (short)((table[x + c] & 255) | table[y + c] * 256);
        }
}
#endif

// A cell from those before it: `before` on the diagonal, E from above, F from the left, which become those of the next
// cells. Returns H; `choice` gets what it and the gaps come from.
inline cells_t fill_cell(const cells_t before, const cells_t score, cells_t *e, cells_t *f, const cells_t opened,
                         const cells_t extended, const cells_t outside, cells_t *choice)
{
    const cells_t matched = ADD(before, score);
    cells_t now = max(max(matched, *e), *f);
#if LOCAL
    now = max(now, (cells_t)0);
#endif
#if BANDED
    now = SELECT(now, (cells_t)NEVER, outside);
#endif
    const cells_t open = now - opened, longer_e = *e - extended, longer_f = *f - extended;
#if PATH
    *choice = IF(now != matched, select((cells_t)BY_F, (cells_t)BY_E, now == *e));
#if LOCAL
    *choice = select(*choice, (cells_t)STOP, now == (cells_t)0);
#endif
    *choice |= IF(longer_e > open, LONGER_E) | IF(longer_f > open, LONGER_F);
#endif
    *e = max(longer_e, open);
    *f = max(longer_f, open);
#if BANDED
    *e = SELECT(*e, (cells_t)NEVER, outside);
    *f = SELECT(*f, (cells_t)NEVER, outside);
#endif
    return now;
}

// Take the cells of a column of a strip that are ends, and better than those so far.
inline void note_ends(ends_t *ends, const cells_t *h, const int above, const int j, const lanes_t *lanes,
                      const int free_ends)
{
    #pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const cells_t i = (cells_t)(above + r + 1), column = (cells_t)j;
#if BEST
        const cells_t is_end = (i <= lanes->own_rows) & (column <= lanes->own_columns);
#else
        const cells_t in_last = i == lanes->own_last, in_right = column == lanes->own_right;
        const cells_t is_end = (in_last & in_right) | IF(in_last & (column <= lanes->own_columns), free_ends & B_END ? -1 : 0)
                             | IF(in_right & (i <= lanes->own_rows), free_ends & A_END ? -1 : 0);
#endif
        const cells_t better = is_end & ((h[r] > ends->highest) | ((h[r] == ends->highest) & (i < ends->row)));
        ends->highest = SELECT(ends->highest, h[r], better);
        ends->row = SELECT(ends->row, i, better);
        ends->column = SELECT(ends->column, column, better);
#if BEST
        ends->needed = SELECT(ends->needed, h[r], better);
#endif
    }
}

#if TILED && !PATH
// The right ends of a strip, for the tiles to the right.
inline void write_right_edge(const cells_t *h, const cells_t *f, const job_t *job, const int above, global cell_t *edges,
                             const uint row_slots, const uint column_slots)
{
    cell_t lane_h[ROWS][LANES], lane_f[ROWS][LANES];
    #pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        STORE(h[r], lane_h[r]);
        STORE(f[r], lane_f[r]);
    }
    for (int l = 0; l < LANES; ++l)
        if (job[l].j0 + job[l].columns < job[l].m) {
            global cell_t *edge = column_edge(edges, job[l], job[l].tile_column, row_slots, column_slots);
            for (int r = 0; r < ROWS && above + r < job[l].rows; ++r) {
                edge[2 * (size_t)(job[l].i0 + above + r + 1)] = lane_h[r][l];
                edge[2 * (size_t)(job[l].i0 + above + r + 1) + 1] = lane_f[r][l];
            }
        }
}

// The last row of the tile, for the tiles below.
inline void write_lower_edge(const job_t *job, global const cell_t *top_h, global const cell_t *top_e,
                             global cell_t *edges, const uint row_slots)
{
    for (int l = 0; l < LANES; ++l)
        if (job[l].i0 + job[l].rows < job[l].n) {
            global cell_t *edge = row_edge(edges, job[l], job[l].tile_row, row_slots);
            for (int j = job[l].j0 == 0 ? 0 : 1; j <= job[l].columns; ++j) {
                edge[2 * (size_t)(job[l].j0 + j)] = top_h[AT(j) + l];
                edge[2 * (size_t)(job[l].j0 + j) + 1] = top_e[AT(j) + l];
            }
        }
}
#endif
