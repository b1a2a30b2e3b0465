// dp/dp_tile_group.h: what the work-items of a group hand to each other when they fill a slanted tile (dp/dp_tile.h first).
//
//   item 0   above ->  block s       at step s item t computes block s - t. It takes the row above its block from item t - 1,
//   item 1   passed -> block s - 1   which has left it in `passed` one step before; the first item takes it from `above`, the
//   item 2   passed -> block s - 2   lower edge of the strip above, and the last one leaves its own in `below`
//
// The includer has STEPS; WIDTH and CHUNK, the columns whose elements the group loads, and so many an item at once; EDGE and
// EDGE_VECTOR, how edges are read: memory that groups of one launch share is volatile; FLUSH: so many steps the group gathers
// what it stores, to write it in runs of a row (0: items write their own); TABLE (1: cells are stored); and BITS of each
// choice with packed_t, the choices of a row of a block.
#define SHIFT (WG_SIZE - 1)      // steps that the last item is late
#if STEPS * UP * COLUMNS <= WG_SIZE * VECTOR
#define EACH_VECTOR(v, lid) const int v = lid; if (v < STEPS * PARTS)
#else
#define EACH_VECTOR(v, lid) for (int v = lid; v < STEPS * PARTS; v += WG_SIZE)
#endif

#if WIDTH == CHUNK * WG_SIZE
#define EACH_COLUMN(c, lid) for (int c = lid, once = 1; once; once = 0)
#else
#define EACH_COLUMN(c, lid) for (int c = lid; c < WIDTH; c += CHUNK * WG_SIZE)
#endif

// The lower edge of the strip above, as far as the first item needs it in this tile; zeros above the first strip.
inline void load_above(local cells_t *above, EDGE *upper, const int base, const bool top, const int edge_pitch, const int lid)
{
    EACH_VECTOR(v, lid) {
        const int column = (base + v / PARTS) * COLUMNS + v % ACROSS * VECTOR;
        above[v] = !top && column < edge_pitch ? *(EDGE_VECTOR *)(upper + (size_t)(v % PARTS / ACROSS) * edge_pitch + column)
                                               : (cells_t)(0);
    }
}
inline void store_below(global cell_t *lower, local const cells_t *below, const int base, const int edge_pitch, const int lid)
{
    EACH_VECTOR(v, lid) {
        const int column = (base - SHIFT + v / PARTS) * COLUMNS + v % ACROSS * VECTOR;
        if (column >= 0 && column < edge_pitch)
            *(global cells_t *)(lower + (size_t)(v % PARTS / ACROSS) * edge_pitch + column) = below[v];
    }
}

// The rows above a block, from the item above; and those that the item below takes, `lower`, at the end of a step.
inline void take_upper(cell_t window[][WIDE], local cells_t (*passed)[PARTS][WG_SIZE], local const cells_t *above,
                       const int step, const int lid)
{
    #pragma unroll
    for (int p = 0; p < PARTS; ++p) {
        const cells_t from = *(lid ? &passed[(step + 1) & 1][p][lid - 1] : &above[step * PARTS + p]);
        SPREAD(&window[p / ACROSS][LEFT + p % ACROSS * VECTOR], from);
    }
}
inline void pass_lower(local cells_t (*passed)[PARTS][WG_SIZE], local cells_t *below, cell_t lower[][COLUMNS], const int step,
                       const int lid)
{
    #pragma unroll
    for (int p = 0; p < PARTS; ++p)
        *(lid < SHIFT ? &passed[step & 1][p][lid] : &below[step * PARTS + p]) = CELLS(&lower[p / ACROSS][p % ACROSS * VECTOR]);
}
// Before the first step: what the item had passed on at the end of the tile before.
inline void pass_again(local cells_t (*passed)[PARTS][WG_SIZE], cell_t lower[][COLUMNS], const int lid)
{
    #pragma unroll
    for (int p = 0; p < PARTS; ++p)
        passed[1][p][lid] = CELLS(&lower[p / ACROSS][p % ACROSS * VECTOR]);
}
inline void keep_lower(cell_t lower[][COLUMNS], cell_t window[][WIDE])
{
    #pragma unroll
    for (int u = 0; u < UP; ++u)
        #pragma unroll
        for (int c = 0; c < COLUMNS; ++c)
            lower[u][c] = window[ROWS + u][LEFT + c];
}

// What the item carries to the next tile: these rows, after the left columns.
inline void load_lower(cell_t lower[][COLUMNS], global const cell_t *state, const bool fresh)
{
    #pragma unroll
    for (int u = 0; u < UP; ++u)
        #pragma unroll
        for (int c = 0; c < COLUMNS; ++c)
            lower[u][c] = fresh ? (cell_t)0 : state[(LEFT * (UP + ROWS) + u * COLUMNS + c) * WG_SIZE];
}
inline void store_lower(global cell_t *state, cell_t lower[][COLUMNS])
{
    #pragma unroll
    for (int u = 0; u < UP; ++u)
        #pragma unroll
        for (int c = 0; c < COLUMNS; ++c)
            state[(LEFT * (UP + ROWS) + u * COLUMNS + c) * WG_SIZE] = lower[u][c];
}

#if FLUSH
#define RUN (FLUSH * ACROSS)           // vectors of a row between two flushes
#define STAGE (ROWS * RUN + 1)         // vectors of an item; one more keeps items in different banks
#define APART (WG_SIZE / RUN / ROWS)   // items whose rows are written at once
#define BATCH (ROWS * RUN < 8 ? ROWS * RUN : 8)   // vectors of them on their way at once
#endif
#if FLUSH && TABLE
inline void stage_block(local cells_t *stage, cell_t window[][WIDE], const int step, const int lid)
{
    #pragma unroll
    for (int r = 0; r < ROWS; ++r)
        #pragma unroll
        for (int k = 0; k < ACROSS; ++k)
            stage[lid * STAGE + r * RUN + k + step % FLUSH * ACROSS] = CELLS(&window[UP + r][LEFT + k * VECTOR]);
}

// The cells of the FLUSH steps before block `at` of the first item: RUN items write the run of a row side by side.
inline void flush_cells(global cell_t *table, const int pitch, local const cells_t *stage, const int at, const int begin,
                        const int bottom, const int blocks, const int n, const bool whole, const int lid)
{
    int column = (at - FLUSH - lid / RUN / ROWS) * COLUMNS + lid % RUN * VECTOR, r = begin + lid / RUN;
    global cell_t *target = table + (TABLE_ROW((long)r) * pitch + column);
    local const cells_t *ready = stage + lid / RUN / ROWS * STAGE + lid / RUN % ROWS * RUN + lid % RUN;
    const long jump = APART * (ROWS * (FLIP_ROWS ? -(long)pitch : (long)pitch) - COLUMNS);
    if (whole)
        for (int k = 0; k < ROWS * RUN; k += BATCH, target += BATCH * jump, ready += BATCH * APART * STAGE) {
            cells_t run[BATCH];
            #pragma unroll
            for (int b = 0; b < BATCH; ++b)
                run[b] = ready[b * APART * STAGE];
            #pragma unroll
            for (int b = 0; b < BATCH; ++b)
                *(global cells_t *)(target + b * jump) = run[b];
        }
    else
        for (int k = 0; k < ROWS * RUN; ++k, target += jump, ready += APART * STAGE, column -= APART * COLUMNS, r += APART * ROWS)
            if (column >= 0 && column < blocks * COLUMNS && r < bottom)
                *(global cells_t *)target = *ready;
}
#endif
#if FLUSH && BITS
// Choices of an item, in other banks than the next one's.
#define WON (ROWS * FLUSH + (BITS * COLUMNS < 32 ? 32 / (BITS * COLUMNS) : 1))
#define WON_APART (WG_SIZE / FLUSH / ROWS)

// The same for choices: FLUSH items write those of a row.
inline void flush_choices(global packed_t *decisions, const int pitch, local const packed_t *stage, const int at,
                            const int begin, const int top, const int bottom, const int blocks, const bool whole, const int lid)
{
    int block = at - FLUSH - lid / FLUSH / ROWS + lid % FLUSH, r = begin + lid / FLUSH;
    global packed_t *target = decisions + ((long)(r - top) * pitch + block);
    local const packed_t *ready = stage + lid / FLUSH / ROWS * WON + lid / FLUSH % ROWS * FLUSH + lid % FLUSH;
    for (int k = 0; k < ROWS * FLUSH; ++k, target += WON_APART * (ROWS * (long)pitch - 1), ready += WON_APART * WON,
                                      block -= WON_APART, r += WON_APART * ROWS)
        if (whole || (block >= 0 && block < blocks && r < bottom))
            *target = *ready;
}
#endif
