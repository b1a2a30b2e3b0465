// dp/dp_tile_flush.h: stores of the cells and choices of a tile. The group gathers them in local memory for FLUSH steps, and
// writes them to global memory in runs of a row. After dp/dp_tile_group.h and dp/dp_tile_choices.h.
//
//   item t   [ row 0: step 0, step 1 .. | row 1: .. | .. | a gap ]      of its stage; the gaps keep items in different banks
//
// The includer has FLUSH (0: items write their own), TABLE (1: cells are stored) and BITS (0: no choices are).
#if FLUSH
#define RUN (FLUSH * ACROSS)           // vectors of a row between two flushes
#define STAGE (ROWS * RUN + 1)         // vectors of an item; one more keeps items in different banks
#define APART (WG_SIZE / RUN / ROWS)   // items whose rows are written at a time
#define BATCH (ROWS * RUN < 8 ? ROWS * RUN : 8)   // vectors of them that are loaded before a store

// Whether the FLUSH blocks before block `at` of the first item are whole, and those of the other items in the same steps.
inline bool all_inside(const int at, const int begin, const int bottom, const int blocks)
{
    return at >= FLUSH + SHIFT && at <= blocks && begin + STRIP <= bottom;
}
#endif

#if FLUSH && TABLE
inline void stage_block(local cells_t *stage, value_t window[][WIDE], const int step, const int lid)
{
    #pragma unroll
    for (int r = 0; r < ROWS; ++r)
        #pragma unroll
        for (int k = 0; k < ACROSS; ++k)
            stage[lid * STAGE + r * RUN + k + step % FLUSH * ACROSS] = CELLS(&window[UP + r][LEFT + k * VECTOR]);
}

// Writes the cells of the FLUSH steps before block `at` of the first item: RUN items together write the run of a row.
inline void flush_cells(global cell_t *table, const int pitch, local const cells_t *stage, const int at, const int begin,
                        const int bottom, const int blocks, const int n, const int lid)
{
    int column = (at - FLUSH - lid / RUN / ROWS) * COLUMNS + lid % RUN * VECTOR, r = begin + lid / RUN;
    global cell_t *target = table + (TABLE_ROW((long)r) * pitch + column);
    local const cells_t *ready = stage + lid / RUN / ROWS * STAGE + lid / RUN % ROWS * RUN + lid % RUN;
    const long jump = APART * (ROWS * (FLIP_ROWS ? -(long)pitch : (long)pitch) - COLUMNS);
    if (all_inside(at, begin, bottom, blocks))
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

inline void stage_choices(local packed_t *stage, const packed_t *won, const int step, const int lid)
{
    #pragma unroll
    for (int r = 0; r < ROWS; ++r)
        stage[lid * WON + r * FLUSH + step % FLUSH] = won[r];
}

// The same for choices: FLUSH items together write those of a row.
inline void flush_choices(global packed_t *decisions, const int pitch, local const packed_t *stage, const int at,
                          const int begin, const int top, const int bottom, const int blocks, const int lid)
{
    const bool whole = all_inside(at, begin, bottom, blocks);
    int block = at - FLUSH - lid / FLUSH / ROWS + lid % FLUSH, r = begin + lid / FLUSH;
    global packed_t *target = decisions + ((long)(r - top) * pitch + block);
    local const packed_t *ready = stage + lid / FLUSH / ROWS * WON + lid / FLUSH % ROWS * FLUSH + lid % FLUSH;
    for (int k = 0; k < ROWS * FLUSH; ++k, target += WON_APART * (ROWS * (long)pitch - 1), ready += WON_APART * WON,
                                      block -= WON_APART, r += WON_APART * ROWS)
        if (whole || (block >= 0 && block < blocks && r < bottom))
            *target = *ready;
}
#endif
