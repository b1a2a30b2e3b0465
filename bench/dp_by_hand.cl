// dp_by_hand: the four case studies of clgeom.dp, each written by hand for its problem, by the algorithm that the framework
// uses for it. bench_dp.py compares the framework with these kernels. One work-item for each group on CPUs.
//
//   WG_SIZE, ROWS, COLUMNS, STEPS, STRIPS    the shape of slanted tiles (lcs_tiles), as in dp/tile_sweep
//   KEEP                             0: the last row only, 1: the table, 2: decisions, with the last row
#ifndef WG_SIZE
#define WG_SIZE 1
#endif
#ifndef KEEP
#define KEEP 1
#endif

// Binomials and knapsack: `count` rows in each launch. A group has TILE columns; those of a margin on the left are computed
// twice. On GPUs they are in local memory, on CPUs in a share of `scratch`, which stays in the cache. Bit j of a row of
// `bits`: item taken. Columns left of the table hold -infinity for the knapsack, so that no test of the column is needed.
#ifdef TILE
#define LOWEST (INT_MIN / 2)
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void fused_rows(global const int *restrict w, global const int *restrict v, const int first, const int count, const int margin,
                const int m, const ulong pitch, global int *table, const ulong before, const ulong into, global int *scratch,
                global uchar *restrict bits)
{
    const int lid = get_local_id(0), core = TILE - margin, base = (int)get_group_id(0) * core - margin;   // of column 0
    const int begin = max(-base, 0), end = min(TILE, m - base);
    global const int *above = table + before;
#if WG_SIZE > 1
#define ITEMS (TILE / WG_SIZE)
    local int tile[TILE];
    int cell[ITEMS];
#if KEEP == 2
    local uchar won[TILE];
#endif
    for (int k = lid; k < TILE; k += WG_SIZE)
        tile[k] = k >= begin && k < end ? above[base + k] : KNAPSACK ? LOWEST : 0;
    for (int r = 0; r < count; ++r) {
        const int i = first + r;
#if KNAPSACK
        const int weight = w[i - 1], value = v[i - 1];
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
        #pragma unroll
        for (int c = 0; c < ITEMS; ++c) {
            const int k = lid + c * WG_SIZE, old = tile[k];
#if KNAPSACK
            const int taken = k >= weight ? tile[k - weight] + value : old;    // otherwise in the margin, where it is not used
            cell[c] = max(old, taken);
#if KEEP == 2
            won[k] = taken > old;
#endif
#else
            const int j = base + k, sum = (k > 0 ? tile[k - 1] : 0) + old;
            cell[c] = j == 0 || j == i ? 1 : j > 0 && j < i ? sum : 0;
#endif
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        #pragma unroll
        for (int c = 0; c < ITEMS; ++c) {
            const int k = lid + c * WG_SIZE;
            tile[k] = cell[c];
#if KEEP == 1
            if (k >= margin && k < end)
                table[(first + r) * pitch + base + k] = cell[c];
#endif
        }
#if KEEP == 2
        for (int k = margin + lid * 8; k < end; k += WG_SIZE * 8) {
            uint packed = 0;
            for (int b = 0; b < 8; ++b)
                packed |= (uint)won[k + b] << b;
            bits[(i * pitch + base + k) / 8] = (uchar)packed;
        }
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#if KEEP != 1
    for (int k = margin + lid; k < end; k += WG_SIZE)
        table[into + base + k] = tile[k];
#endif
#else
    scratch += get_group_id(0) * 3 * TILE;
    global int *rows[2] = {scratch, scratch + TILE};
#if KEEP == 2
    global uchar *restrict won = (global uchar *)(scratch + 2 * TILE);
#endif
    const bool straight = KEEP == 1 && get_num_groups(0) == 1;    // no neighbours: the table itself
    for (int r = 0; r < count; ++r) {
        const int i = first + r;
        global int *kept = table + i * pitch + base;
        global const int *restrict now = r == 0 ? above + base : straight ? kept - pitch : rows[r & 1];
        global int *restrict next = straight ? kept : r == count - 1 && KEEP != 1 ? table + into + base : rows[(r + 1) & 1];
        const int from = r == count - 1 && KEEP != 1 ? max(margin, begin) : begin;
#if KNAPSACK
        const int weight = w[i - 1], value = v[i - 1], full = min(max(from, begin + weight), end);
        for (int k = from; k < full; ++k)       // nothing is taken, or the value is not used
            next[k] = now[k];
        for (int k = full; k < end; ++k) {
            const int old = now[k], taken = now[k - weight] + value;
            next[k] = taken > old ? taken : old;
#if KEEP == 2
            won[k] = taken > old;
#endif
        }
#if KEEP == 2
        for (int k = from; k < full; ++k)
            won[k] = 0;
        for (int k = max(margin, begin); k < end; k += 8) {     // eight bytes, 0 or 1, to eight bits
            const ulong eight = *(global const ulong *)(won + k) & 0x0101010101010101UL;    // bits beyond the end are not used
            bits[(i * pitch + base + k) / 8] = (uchar)(eight * 0x0102040810204080UL >> 56);
        }
#endif
#else
        const int diagonal = min(max(i - base, from), end);
        if (from < diagonal)        // column 0, or a column that only its neighbour uses
            next[from] = base + from > 0 && from > 0 ? now[from - 1] + now[from] : 1;
        for (int k = from + 1; k < diagonal; ++k)
            next[k] = (int)((uint)now[k - 1] + (uint)now[k]);
        for (int k = diagonal; k < end; ++k)
            next[k] = base + k == i;
#endif
        if (KEEP == 1 && !straight)
            for (int k = max(margin, begin); k < end; ++k)
                kept[k] = next[k];
    }
#endif
}
#endif

// Longest common subsequence: a diagonal of slanted tiles. Item t has ROWS rows of a strip; at step s it computes a block
// of ROWS x COLUMNS cells, block s - t of its rows, below what the item above passed on. Sizes are padded to blocks. Choices
// have two bits, those of a row of a block an integer: 0 takes a common letter, 2 leaves out one of a, 3 one of b.
#ifdef STEPS
#if COLUMNS == 4
typedef uchar choices_t;
#elif COLUMNS == 8
typedef ushort choices_t;
#else
typedef uint choices_t;
#endif
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void lcs_tiles(global const int *restrict a, global const int *restrict b, const uint m, const ulong pitch,
               global int *restrict table, global int *restrict edge, global int *restrict left,
               global int *restrict passed, const uint launch, const uint first, const uint lag)
{
#if WG_SIZE > 1
    local int pass[2][WG_SIZE][COLUMNS];
#endif
    const uint lid = get_local_id(0), group = first + get_group_id(0), blocks = (m + COLUMNS - 1) / COLUMNS;
    const int tile = (int)launch - (int)(lag * group);
    for (uint strip = group * STRIPS; strip < (group + 1) * STRIPS; ++strip) {    // one below the other: for CPUs
        const ulong item = strip * WG_SIZE + lid, row = item * ROWS;
        int x[ROWS], side[ROWS + 1];
        for (int r = 0; r < ROWS; ++r)
            x[r] = a[row + r];
        for (int r = 0; r <= ROWS; ++r)
            side[r] = left[item * (ROWS + 1) + r];
#if WG_SIZE > 1
        for (int c = 0; c < COLUMNS; ++c)
            pass[1][lid][c] = passed[item * COLUMNS + c];       // in the last step of the tile before; STEPS is even
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
        for (int s = 0; s < STEPS; ++s) {
            const int block = tile * STEPS + s - (int)lid;
            if (block >= 0 && block < (int)blocks) {
                const uint column = block * COLUMNS;
                int cells[ROWS][COLUMNS], above[COLUMNS];
#if KEEP == 2
                uint choices[ROWS];
                for (int r = 0; r < ROWS; ++r)
                    choices[r] = 0;
#endif
                for (int c = 0; c < COLUMNS; ++c)
#if WG_SIZE > 1
                    above[c] = lid == 0 ? edge[column + c] : pass[(s + 1) & 1][lid - (lid > 0)][c];
#else
                    above[c] = edge[column + c];
#endif
                #pragma unroll
                for (int c = 0; c < COLUMNS; ++c) {
                    const int y = b[column + c];
                    int corner = side[0], up = above[c];
                    side[0] = up;
                    #pragma unroll
                    for (int r = 0; r < ROWS; ++r) {
                        const int before = side[r + 1], best = before > up ? before : up;
#if KEEP == 2
                        choices[r] |= (x[r] == y ? 0u : before > up ? 3u : 2u) << 2 * c;
#endif
                        up = x[r] == y ? corner + 1 : best;
                        corner = before;
                        side[r + 1] = up;
                        cells[r][c] = up;
                    }
                }
                for (int c = 0; c < COLUMNS; ++c)
#if WG_SIZE > 1
                    if (lid == WG_SIZE - 1)
                        edge[column + c] = cells[ROWS - 1][c];
                    else
                        pass[s & 1][lid][c] = cells[ROWS - 1][c];
#else
                    edge[column + c] = cells[ROWS - 1][c];
#endif
#if KEEP == 2
                for (int r = 0; r < ROWS; ++r)
                    ((global choices_t *)table)[(row + r) * (pitch / COLUMNS) + block] = (choices_t)choices[r];
#elif KEEP
                for (int r = 0; r < ROWS; ++r)
                    for (int c = 0; c < COLUMNS; c += 4)
                        vstore4((int4)(cells[r][c], cells[r][c + 1], cells[r][c + 2], cells[r][c + 3]), 0,
                                table + (row + r) * pitch + column + c);
#endif
            }
#if WG_SIZE > 1
            barrier(CLK_LOCAL_MEM_FENCE);
#endif
        }
        for (int r = 0; r <= ROWS; ++r)
            left[item * (ROWS + 1) + r] = side[r];
#if WG_SIZE > 1
        for (int c = 0; c < COLUMNS; ++c)
            passed[item * COLUMNS + c] = pass[1][lid][c];
#endif
    }
}
#endif

// Matrix chains: tiles of SIDE x SIDE cells, diagonal after diagonal. The splits k between two tiles are a product of
// matrices with min and +; the others are computed cell by cell. The table is padded to whole tiles; KEEP 2 keeps k.
#ifdef SIDE
#define LESS(v, best) ((v) < (best) ? (v) : (best))     // min is a call on PoCL
#if KEEP == 2
#define TAKE(cost, k, best, at) do { const int dp_v = cost; at = dp_v < best ? k : at; best = LESS(dp_v, best); } while (0)
#define JOIN(cost, k, best, at) do { const int dp_v = cost, dp_q = k; \
        at = dp_v < best || (dp_v == best && dp_q < at) ? dp_q : at; best = LESS(dp_v, best); } while (0)
#else
#define TAKE(cost, k, best, at) do { const int dp_v = cost; best = LESS(dp_v, best); } while (0)
#define JOIN(cost, k, best, at) TAKE(cost, k, best, at)
#endif
#if WG_SIZE > 1
// Item (x, y) has 4 x 4 cells in registers; the parts of a tile take runs of splits in turn.
kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void chain_product(const int pitch, const int diagonal, const int parts, global const int *restrict d, global const int *restrict table,
                   global int *restrict best_of, global int *restrict k_of)
{
    local int left[16][SIDE + 1], right[16][SIDE];
    const int tile = get_group_id(0) / parts, part = get_group_id(0) % parts, lid = get_local_id(0), x = lid % 16, y = lid / 16;
    const int i0 = tile * SIDE, j0 = i0 + diagonal * SIDE, begin = i0 + SIDE - 1 + part * diagonal / parts * SIDE;
    const int end = min(i0 + SIDE - 1 + (part + 1) * diagonal / parts * SIDE, j0);
    int best[4][4], at[4][4], di[4], dj[4];
    for (int r = 0; r < 4; ++r) {
        di[r] = d[i0 + y + 16 * r];
        dj[r] = d[j0 + x + 16 * r + 1];
        for (int c = 0; c < 4; ++c) {
            best[r][c] = INT_MAX;
            at[r][c] = -1;
        }
    }
    for (int run = begin; run < end; run += 16) {
        const int stop = min(16, end - run);
        for (int q = lid; q < 16 * SIDE; q += 256) {
            if (q % 16 < stop)
                left[q % 16][q / 16] = table[(size_t)(i0 + q / 16) * pitch + run + q % 16];
            if (q / SIDE < stop)
                right[q / SIDE][q % SIDE] = table[(size_t)(run + q / SIDE + 1) * pitch + j0 + q % SIDE];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        #pragma unroll 4
        for (int k = 0; k < stop; ++k) {
            const int dk = d[run + k + 1];
            #pragma unroll
            for (int r = 0; r < 4; ++r) {
                const int a = left[k][y + 16 * r], ends = di[r] * dk;
                #pragma unroll
                for (int c = 0; c < 4; ++c)
                    TAKE(a + right[k][x + 16 * c] + ends * dj[c], run + k, best[r][c], at[r][c]);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int r = 0; r < 4; ++r)
        for (int c = 0; c < 4; ++c) {
            const size_t q = (size_t)get_group_id(0) * SIDE * SIDE + (y + 16 * r) * SIDE + x + 16 * c;
            best_of[q] = best[r][c];
#if KEEP == 2
            k_of[q] = at[r][c];
#endif
        }
}

// The cells of a tile by antidiagonals, with WG_SIZE / SIDE items for each cell; the two triangles of tiles on the main
// diagonal that it reads are in one square.
#define SHARE (WG_SIZE / SIDE)
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void chain_finish(const int pitch, const int diagonal, const int parts, global const int *restrict d, global int *restrict table,
                  global const int *restrict best_of, global int *restrict k_of, global int *restrict splits)
{
    local int cells[SIDE][SIDE + 1], beside[SIDE][SIDE + 1], best_here[SHARE][SIDE], at_here[SHARE][SIDE];
    const int lid = get_local_id(0), r = lid % SIDE, share = lid / SIDE, i0 = get_group_id(0) * SIDE, j0 = i0 + diagonal * SIDE;
    const size_t mine = (size_t)get_group_id(0) * parts * SIDE * SIDE;
    for (int q = lid; q < SIDE * SIDE; q += WG_SIZE) {
        const int x = q / SIDE, y = q % SIDE;
        int best = INT_MAX, at = INT_MAX;
        for (int p = 0; p < (diagonal ? parts : 0); ++p)
            JOIN(best_of[mine + p * SIDE * SIDE + q], k_of[mine + p * SIDE * SIDE + q], best, at);
        cells[x][y] = best;
#if KEEP == 2
        k_of[mine + q] = at;
#endif
        if (y >= x)
            beside[x][y] = table[(size_t)(i0 + x) * pitch + i0 + y];
        else
            beside[SIDE - 1 - y][SIDE - 1 - x] = table[(size_t)(j0 + SIDE - x) * pitch + j0 + SIDE - 1 - y];
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int i = i0 + r, di = d[i];
    for (int step = diagonal ? 0 : SIDE - 1; step < 2 * SIDE - 1; ++step) {
        const int c = step - (SIDE - 1) + r, j = j0 + c;
        int best = INT_MAX, at = INT_MAX, of_product = INT_MAX;
        if (c >= 0 && c < SIDE) {
            const int ends = di * d[j + 1];
#if KEEP == 2
            of_product = k_of[mine + r * SIDE + c];
#endif
            if (diagonal) {
                #pragma unroll 4
                for (int q = r + share; q < SIDE - 1; q += SHARE)
                    TAKE(beside[r][q] + cells[q + 1][c] + ends * d[i0 + q + 1], i0 + q, best, at);
                #pragma unroll 4
                for (int q = share; q < c; q += SHARE)
                    TAKE(cells[r][q] + beside[c][q] + ends * d[j0 + q + 1], j0 + q, best, at);
            } else
                for (int q = r + share; q < c; q += SHARE)
                    TAKE(cells[r][q] + cells[q + 1][c] + ends * d[i0 + q + 1], i0 + q, best, at);
        }
        best_here[share][r] = best;
#if KEEP == 2
        at_here[share][r] = at;
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
        if (share == 0 && c >= 0 && c < SIDE) {
            for (int s = 1; s < SHARE; ++s)
                JOIN(best_here[s][r], at_here[s][r], best, at);
            JOIN(cells[r][c], of_product, best, at);
            cells[r][c] = i == j ? 0 : best;
#if KEEP == 2
            splits[(size_t)i * pitch + j] = at;
#endif
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int q = lid; q < SIDE * SIDE; q += WG_SIZE)
        table[(size_t)(i0 + q / SIDE) * pitch + j0 + q % SIDE] = cells[q / SIDE][q % SIDE];
}
#else
// Splits k .. of one row: those of ROW_OF with all cells of the row in the tile, in vectors.
#define ROW_OF(a, right, k, best, at) do { \
        const int dp_a = a, dp_k = k, dp_ends = di * d[dp_k + 1]; \
        global const int *dp_b = right; \
        for (int c = 0; c < SIDE; ++c) \
            TAKE(dp_a + dp_b[c] + dp_ends * dj[c], dp_k, best[c], at[c]); \
    } while (0)
kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void chain_tiles(const int pitch, const int diagonal, global const int *restrict d, global int *table, global int *splits)
{
    const int i0 = get_group_id(0) * SIDE, j0 = i0 + diagonal * SIDE;
    int product[SIDE][SIDE], from[SIDE][SIDE], dj[SIDE];
    for (int c = 0; c < SIDE; ++c)
        dj[c] = d[j0 + c + 1];
    for (int r = 0; r < SIDE; ++r)
        for (int c = 0; c < SIDE; ++c) {
            product[r][c] = INT_MAX;
            from[r][c] = -1;
        }
    for (int run = i0 + SIDE - 1; run < j0; run += SIDE)      // whose right operands stay in the cache for all rows
        for (int r = 0; r < SIDE; ++r) {
            const int di = d[i0 + r], stop = min(run + SIDE, j0);
            global const int *a = table + (size_t)(i0 + r) * pitch;
            int best[SIDE], at[SIDE];
            for (int c = 0; c < SIDE; ++c) {
                best[c] = product[r][c];
                at[c] = from[r][c];
            }
            int k = run;
            for (; k + 4 <= stop; k += 4) {
                global const int *b = table + (size_t)(k + 1) * pitch + j0;
                const int a0 = a[k], a1 = a[k + 1], a2 = a[k + 2], a3 = a[k + 3];
                const int e0 = di * d[k + 1], e1 = di * d[k + 2], e2 = di * d[k + 3], e3 = di * d[k + 4];
                for (int c = 0; c < SIDE; ++c) {
                    TAKE(a0 + b[c] + e0 * dj[c], k, best[c], at[c]);
                    TAKE(a1 + b[pitch + c] + e1 * dj[c], k + 1, best[c], at[c]);
                    TAKE(a2 + b[2 * pitch + c] + e2 * dj[c], k + 2, best[c], at[c]);
                    TAKE(a3 + b[3 * pitch + c] + e3 * dj[c], k + 3, best[c], at[c]);
                }
            }
            for (; k < stop; ++k)
                ROW_OF(a[k], table + (size_t)(k + 1) * pitch + j0, k, best, at);
            for (int c = 0; c < SIDE; ++c) {
                product[r][c] = best[c];
                from[r][c] = at[c];
            }
        }
    for (int r = SIDE - 1; r >= 0; --r) {
        const int i = i0 + r, di = d[i];
        global int *row = table + (size_t)i * pitch;
        int best[SIDE], at[SIDE];
        for (int c = 0; c < SIDE; ++c) {
            best[c] = INT_MAX;
            at[c] = -1;
        }
        if (diagonal) {
            for (int k = i; k < i0 + SIDE - 1; ++k)
                ROW_OF(row[k], table + (size_t)(k + 1) * pitch + j0, k, best, at);
            for (int c = 0; c < SIDE; ++c)
                TAKE(product[r][c], from[r][c], best[c], at[c]);
        }
        for (int c = diagonal ? 0 : r; c < SIDE; ++c) {     // a cell, then its terms for the cells right of it
            row[j0 + c] = j0 + c == i ? 0 : best[c];
#if KEEP == 2
            splits[(size_t)i * pitch + j0 + c] = at[c];
#endif
            if (c < SIDE - 1)       // terms for cells to the left are not used
                ROW_OF(row[j0 + c], table + (size_t)(j0 + c + 1) * pitch + j0, j0 + c, best, at);
        }
    }
}
#endif
#endif
