// dp/dp_split_runs.h: the splits between two tiles, by one work-item: a product of matrices with "the better of" and +, rows
// of a tile in vectors. The includer has TILE, LEFT, RIGHT and the names for dp/dp_split.h.

// Columns are below 2^30. A compiler that knows this omits the tests for column numbers that wrap around, which would
// precede each loop: loops are a few vectors long.
#define SPLIT_MOST 0x3fffffff

// Splits begin .. end - 1, a run of TILE at a time, whose right operands stay in the cache for all rows.
inline void item_splits(sum_t *best_of, int *k_of, const int i0, const int first_column, const int begin, const int end,
                        const int n, const int m, global const cell_t *table, const int pitch DP_KERNEL_PARAMETERS)
{
    const int j0 = first_column & SPLIT_MOST;
    const int width = min(TILE, m - j0);
    for (int q = 0; q < TILE * TILE; ++q) {
        best_of[q] = SPLIT_START;
        k_of[q] = SPLIT_FIRST(begin);
    }
    for (int run = begin; run < end; run += TILE)
        for (int r = 0; r < TILE && i0 + r < n; ++r) {
            const int i = i0 + r, stop = min(run + TILE, end);
            sum_t best[TILE];
            int at[TILE];
            for (int c = 0; c < TILE; ++c) {
                best[c] = best_of[r * TILE + c];
#if SPLIT_TRACK
                at[c] = k_of[r * TILE + c];
#endif
            }
            int k = run;
            if (width == TILE && end + RIGHT <= n)
                for (; k + 4 <= stop; k += 4) {
                    global const cell_t *a = table + (size_t)i * pitch + k + LEFT, *b = table + (size_t)(k + RIGHT) * pitch + j0;
                    const sum_t a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];
                    for (int c = 0; c < TILE; ++c) {
                        SPLIT_TAKE(SPLIT_SUM(i, j0 + c, k, a0, b[c]), k, best[c], at[c]);
                        SPLIT_TAKE(SPLIT_SUM(i, j0 + c, k + 1, a1, b[pitch + c]), k + 1, best[c], at[c]);
                        SPLIT_TAKE(SPLIT_SUM(i, j0 + c, k + 2, a2, b[2 * (size_t)pitch + c]), k + 2, best[c], at[c]);
                        SPLIT_TAKE(SPLIT_SUM(i, j0 + c, k + 3, a3, b[3 * (size_t)pitch + c]), k + 3, best[c], at[c]);
                    }
                }
            for (; k < stop; ++k) {
                const sum_t a = table[(size_t)i * pitch + k + LEFT];
                global const cell_t *b = table + (size_t)min(k + RIGHT, n - 1) * pitch + j0;
                for (int c = 0; c < width; ++c)
                    SPLIT_TAKE(SPLIT_SUM(i, j0 + c, k, a, b[c]), k, best[c], at[c]);
            }
            for (int c = 0; c < TILE; ++c) {
                best_of[r * TILE + c] = best[c];
#if SPLIT_TRACK
                k_of[r * TILE + c] = at[c];
#endif
            }
        }
}
