// dp/dp_tile.h: blocks of cells in registers, and the rows of cells that tiles pass on. For the kernels of slanted tiles.
//
//           LEFT      COLUMNS
//         +-------+-------------+
//      UP | . . . | . . . . . . |    window[UP + ROWS][LEFT + COLUMNS]: a block, #, and the cells that its cells read. The
//         +-------+-------------+    block to the right has the last LEFT columns of this window as its own left ones, the
//    ROWS | . . . | # # # # # # |    block below has the last UP rows above it.
//         +-------+-------------+
//
// The includer has the equation with cell_t and value_t; WG_SIZE, ROWS, COLUMNS, UP, LEFT; FLIP_ROWS and FLIP_COLUMNS (0 or 1), because
// rows and columns are counted in the order of filling; VECTOR, the number of cells in one store, with their type cells_t,
// for which the rows of the table are aligned; and for FILL_BLOCK the macros NEAR_OF(r, c) and HELD_OF(r, c), further
// arguments of a cell's function, HELD (1: elements of parameters are held), and the names of dp/dp_tile_choices.h.
// All loops are unrolled, so that windows stay in registers.
#define WIDE (LEFT + COLUMNS)          // columns of a window
#define STRIP (WG_SIZE * ROWS)         // rows of a strip of tiles
#define ACROSS (COLUMNS / VECTOR)      // vectors side by side in a block
#define PARTS (UP * ACROSS)            // vectors that a block passes on to the one below
#define STATE (LEFT * (UP + ROWS) + UP * COLUMNS)   // cells that an item passes on from a tile to the next
#if VECTOR == 8
#define CELLS(of) ((cells_t)((of)[0], (of)[1], (of)[2], (of)[3], (of)[4], (of)[5], (of)[6], (of)[7]))
#define SPREAD(to, cells) \
    (to)[0] = (cells).s0; (to)[1] = (cells).s1; (to)[2] = (cells).s2; (to)[3] = (cells).s3; \
    (to)[4] = (cells).s4; (to)[5] = (cells).s5; (to)[6] = (cells).s6; (to)[7] = (cells).s7
#elif VECTOR == 4
#define CELLS(of) ((cells_t)((of)[0], (of)[1], (of)[2], (of)[3]))
#define SPREAD(to, cells) (to)[0] = (cells).s0; (to)[1] = (cells).s1; (to)[2] = (cells).s2; (to)[3] = (cells).s3
#elif VECTOR == 2
#define CELLS(of) ((cells_t)((of)[0], (of)[1]))
#define SPREAD(to, cells) (to)[0] = (cells).s0; (to)[1] = (cells).s1
#else
#define CELLS(of) ((of)[0])
#define SPREAD(to, cells) (to)[0] = (cells)
#endif
#if FLIP_ROWS
#define TABLE_ROW(i) (n - 1 - (i))     // in the table; elsewhere rows and columns are counted in the order of filling
#else
#define TABLE_ROW(i) (i)
#endif
#if FLIP_COLUMNS
#define TABLE_COLUMN(j) (m - 1 - (j))
#else
#define TABLE_COLUMN(j) (j)
#endif

// The row of `edges` that holds the lower edge of a strip: one of two in turn, or a row of its own for each `every`-th strip
// (0: for none).
inline int slot_of(const int strip, const int every)
{
    return every && (strip + 1) % every == 0 ? 1 + (strip + 1) / every : strip & 1;
}

// Loads what a work-item passes on from a tile to the next one to its right: the left columns of its window. `fresh`: the
// first tile.
inline void load_left(value_t window[][WIDE], global const cell_t *state, const bool fresh)
{
    #pragma unroll
    for (int r = 0; r < UP + ROWS; ++r)
        #pragma unroll
        for (int c = 0; c < LEFT; ++c)
            window[r][c] = fresh ? DP_NO_CELL : state[(r * LEFT + c) * WG_SIZE];
}
inline void store_left(global cell_t *state, value_t window[][WIDE])
{
    #pragma unroll
    for (int r = 0; r < UP + ROWS; ++r)
        #pragma unroll
        for (int c = 0; c < LEFT; ++c)
            state[(r * LEFT + c) * WG_SIZE] = window[r][c];
}

// Sets the cells of a window except its left columns. None of them is read before it is computed or passed on.
inline void clear_block(value_t window[][WIDE])
{
    #pragma unroll
    for (int r = 0; r < UP + ROWS; ++r)
        #pragma unroll
        for (int c = 0; c < COLUMNS; ++c)
            window[r][LEFT + c] = DP_NO_CELL;
}

// Moves a window from a block to the next one to its right; before the first block, cells are 0.
inline void next_block(value_t window[][WIDE], const bool first)
{
    #pragma unroll
    for (int r = 0; r < UP + ROWS; ++r)
        #pragma unroll
        for (int c = 0; c < LEFT; ++c)
            window[r][c] = first ? DP_NO_CELL : window[r][COLUMNS + c];
}

// Stores the cells of a block in the table; `whole`: all of them are inside it.
inline void store_block(global cell_t *table, const int pitch, value_t window[][WIDE], const int row, const int column,
                        const int bottom, const int n, const int m, const bool whole)
{
    global cell_t *target = table + (size_t)TABLE_ROW(row) * pitch + TABLE_COLUMN(column);
    const long down = FLIP_ROWS ? -(long)pitch : (long)pitch;
    if (whole || (column >= 0 && row + ROWS <= bottom && column + COLUMNS <= m)) {
        #pragma unroll
        for (int r = 0; r < ROWS; ++r) {
#if FLIP_COLUMNS
            #pragma unroll
            for (int c = 0; c < COLUMNS; ++c)
                target[r * down - c] = window[UP + r][LEFT + c];
#else
            #pragma unroll
            for (int k = 0; k < ACROSS; ++k)
                *(global cells_t *)(target + r * down + k * VECTOR) = CELLS(&window[UP + r][LEFT + k * VECTOR]);
#endif
        }
    } else if (column >= 0) {
        #pragma unroll
        for (int r = 0; r < ROWS; ++r)
            #pragma unroll
            for (int c = 0; c < COLUMNS; ++c)
                if (row + r < bottom && column + c < m)
                    target[r * down + (FLIP_COLUMNS ? -c : c)] = window[UP + r][LEFT + c];
    }
}

// Stores the last row of the table, if a block has it, in whole blocks in the order of filling.
inline void store_last_row(global cell_t *last_row, value_t window[][WIDE], const int row, const int column, const int n)
{
    #pragma unroll
    for (int r = 0; r < ROWS; ++r)
        if (row + r == n - 1) {
            #pragma unroll
            for (int k = 0; k < ACROSS; ++k)
                *(global cells_t *)(last_row + column + k * VECTOR) = CELLS(&window[UP + r][LEFT + k * VECTOR]);
        }
}

// Cells of a block whose value goes beyond their type, as bits; dp/dp_overflow.h notes them after the block.
// Values that are not cut to the type show it themselves, so that a cell only adds to `over`.
#if DP_TRAPS
#if DP_UNCUT
#define NO_OVERFLOWS int over = 0
#define KEEP_OVERFLOW(r, c)
#define NOTE_OVERFLOWS if (over) note_block(beyond_type(w), row, column, bottom, n, m DP_ARGUMENTS)
inline ulong beyond_type(value_t window[][WIDE])
{
    ulong found = 0;
    #pragma unroll
    for (int r = 0; r < ROWS; ++r)
        #pragma unroll
        for (int c = 0; c < COLUMNS; ++c)
            found |= (ulong)(window[UP + r][LEFT + c] != (cell_t)window[UP + r][LEFT + c]) << (r * COLUMNS + c);
    return found;
}
#else
#define NO_OVERFLOWS int over = 0; ulong overflows = 0
#define KEEP_OVERFLOW(r, c) overflows |= (ulong)over << ((r) * COLUMNS + (c)); over = 0
#define NOTE_OVERFLOWS if (overflows) note_block(overflows, row, column, bottom, n, m DP_ARGUMENTS)
#endif
inline void note_block(const ulong overflows, const int row, const int column, const int bottom, const int n, const int m
                       DP_KERNEL_PARAMETERS)
{
    for (int q = 0; q < ROWS * COLUMNS; ++q)
        if (overflows >> q & 1 && row + q / COLUMNS < bottom)
            dp_note_overflow(TABLE_ROW(row + q / COLUMNS), TABLE_COLUMN(column + q % COLUMNS), n, m, dp_overflow);
}
#else
#define NO_OVERFLOWS
#define KEEP_OVERFLOW(r, c)
#define NOTE_OVERFLOWS
#endif

// Computes the cells of a block that meet `guard`, column after column. The kernel has row, column, n, m, a window w,
// `decision`, and the choices of each row, won. Compilers fold conditions on the first row and column, which are 0: an
// `inner` block has neither, and in other blocks only the first cells may be there.
#define FILL_BLOCK(inner, guard)                                                    \
    _Pragma("unroll") for (int c = 0; c < COLUMNS; ++c)                             \
        _Pragma("unroll") for (int r = 0; r < ROWS; ++r)                            \
            if (guard) {                                                            \
                w[UP + r][LEFT + c] = CELL(inner, r, c);                            \
                KEEP_OVERFLOW(r, c);                                                \
                KEEP_CHOICE(r, c);                                                \
            }
// The same, without cells outside the table or below `bottom`.
#define FILL_INSIDE                                                                 \
    if (row + ROWS <= bottom && column + COLUMNS <= m) {                            \
        FILL_BLOCK(0, true)                                                         \
    } else {                                                                        \
        FILL_BLOCK(0, row + r < bottom && column + c < m)                           \
    }
// held[r]: elements of a parameter that the cells of row + r share; `load` reads them.
#define HOLD_ROWS(type, held, load)                                                 \
    type held[ROWS];                                                                \
    _Pragma("unroll") for (int r = 0; r < ROWS; ++r)                                \
        held[r] = load(TABLE_ROW(row + r), 0, n, m DP_ARGUMENTS)
#if HELD
#define AT(inner, r, c) TABLE_ROW(row + r), TABLE_COLUMN(column + c), n, m
#define CELL(inner, r, c)                                                           \
    (inner || r ? inner || c ? CELL_BY(dp_cell_held_i_j, inner, r, c) : CELL_BY(dp_cell_held_i, inner, r, c) \
                : inner || c ? CELL_BY(dp_cell_held_j, inner, r, c) : CELL_BY(dp_cell_held, inner, r, c))
#else
#define HELD_OF(r, c)
#if FLIP_ROWS || FLIP_COLUMNS
#define AT(inner, r, c) TABLE_ROW(row + r), TABLE_COLUMN(column + c), n, m
#else
#define AT(inner, r, c) KNOWN(inner, row, r, ROWS), KNOWN(inner, column, c, COLUMNS), n, m
#define KNOWN(inner, x, k, size) (inner ? AT_LEAST(x + k, k + size) : k ? AT_LEAST(x + k, k) : x + k)
#endif
#define CELL(inner, r, c) CELL_BY(dp_cell, inner, r, c)
#endif
#define CELL_BY(function, inner, r, c) \
    function(AT(inner, r, c) NEAR_OF(r, c) HELD_OF(r, c) DP_ARGUMENTS DP_DECISION(&decision) DP_OVER(&over))
