// dp_by_hand: the four case studies of clgeom.dp, each written for its problem alone, by the algorithm that the framework
// takes for it: what bench_dp.py measures the framework against. One work-item a group on CPUs.
//
//   WG_SIZE, ROWS, COLUMNS, STEPS, STRIPS    the shape of slanted tiles (lcs_tiles), as dp/tile_sweep has them
//   KEEP                             write the table, not only its last row
#ifndef WG_SIZE
#define WG_SIZE 1
#endif
#ifndef KEEP
#define KEEP 1
#endif

// Binomials and knapsack: `count` rows a launch. A group has TILE columns, those of a margin on the left computed twice;
// of the rows it holds two. On GPUs in local memory, on CPUs in a share of `scratch`, which stays in the cache.
#ifdef TILE
#if KNAPSACK
#define ROW(r) const int weight = w[first + (r) - 1], value = v[first + (r) - 1]
#define REACH (j >= weight ? weight : 0)
#define CELL(now, k, j) (j >= weight && now[k - weight] + value > now[k] ? now[k - weight] + value : now[k])
#else
#define ROW(r) const int i = first + (r)
#define REACH (j > 0 ? 1 : 0)
#define CELL(now, k, j) (j == 0 || j == i ? 1 : j < i ? (int)((uint)now[k - 1] + (uint)now[k]) : 0)
#endif

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void fused_rows(global const int *restrict w, global const int *restrict v, const int first, const int count, const int margin,
                const int m, const ulong pitch, global int *table, const ulong before, const ulong into, global int *scratch)
{
    const int lid = get_local_id(0), core = TILE - margin, base = (int)get_group_id(0) * core - margin;   // of column 0
    const int begin = max(-base, 0), end = min(TILE, m - base);
    global const int *above = table + before;
#if WG_SIZE > 1
    local int tile[2][TILE];
    for (int k = begin + lid; k < end; k += WG_SIZE)
        tile[0][k] = above[base + k];
    for (int r = 0; r < count; ++r) {
        ROW(r);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = begin + lid; k < end; k += WG_SIZE) {
            const int j = base + k;
            const int cell = k < REACH ? 0 : CELL(tile[r & 1], k, j);     // 0: in the margin, where nobody needs it
            tile[(r + 1) & 1][k] = cell;
#if KEEP
            if (k >= margin)
                table[(first + r) * pitch + j] = cell;
#endif
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#if !KEEP
    for (int k = margin + lid; k < end; k += WG_SIZE)
        table[into + base + k] = tile[count & 1][k];
#endif
#else
    global int *rows[2] = {scratch + get_group_id(0) * 2 * TILE, scratch + (get_group_id(0) * 2 + 1) * TILE};
    for (int k = begin; k < end; ++k)
        rows[0][k] = above[base + k];
    for (int r = 0; r < count; ++r) {
        ROW(r);
        global const int *restrict now = rows[r & 1];
        global int *restrict next = rows[(r + 1) & 1];
#if KNAPSACK
        const int full = begin + weight;      // to the left nothing is taken, or nobody needs it
        for (int k = begin; k < min(full, end); ++k)
            next[k] = now[k];
        for (int k = full; k < end; ++k) {
            const int taken = now[k - weight] + value;
            next[k] = taken > now[k] ? taken : now[k];
        }
#else
        for (int k = begin; k < end; ++k) {
            const int j = base + k;
            next[k] = j == 0 || j == i ? 1 : j < i ? (int)((uint)now[max(k - 1, 0)] + (uint)now[k]) : 0;
        }
#endif
#if KEEP
        for (int k = max(margin, begin); k < end; ++k)
            table[(first + r) * pitch + base + k] = next[k];
#endif
    }
#if !KEEP
    for (int k = max(margin, begin); k < end; ++k)
        table[into + base + k] = rows[count & 1][k];
#endif
#endif
}
#endif

// Longest common subsequence: a diagonal of slanted tiles. Item t has ROWS rows of a strip; at step s it computes a block
// of ROWS x COLUMNS cells, block s - t of its rows, below what the item above passed on. Sizes are padded to blocks.
#ifdef STEPS
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
#if KEEP
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

// Matrix chains: a diagonal, an item for each cell; `mirror` is the table transposed, so that both reads run along rows.
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void matrix_chain_diagonal(const uint n, const uint gap, global const int *restrict d, global int *restrict table,
                           global int *restrict mirror)
{
    for (uint i = get_global_id(0); i + gap < n; i += get_global_size(0)) {
        const uint j = i + gap;
        const int ends = d[i] * d[j + 1];
        int best = INT_MAX;
        for (uint k = i; k < j; ++k) {
            const int cost = table[(ulong)i * n + k] + mirror[(ulong)j * n + k + 1] + ends * d[k + 1];
            best = cost < best ? cost : best;
        }
        best = gap == 0 ? 0 : best;
        table[(ulong)i * n + j] = best;
        mirror[(ulong)j * n + i] = best;
    }
}
