// dp_by_hand: the four case studies of clgeom.dp, each written for its problem alone, by the algorithm that the framework
// takes for it: what bench_dp.py measures the framework against. One work-item a group on CPUs.
//
//   WG_SIZE, ROWS, COLUMNS, STEPS, STRIPS    the shape of slanted tiles (lcs_tiles), as dp/tile_sweep has them
//   KEEP                             0: the last row alone, 1: the table, 2: decisions, with the last row
#ifndef WG_SIZE
#define WG_SIZE 1
#endif
#ifndef KEEP
#define KEEP 1
#endif

// Binomials and knapsack: `count` rows a launch. A group has TILE columns, those of a margin on the left computed twice.
// On GPUs they are in local memory, on CPUs in a share of `scratch`, which stays in the cache. Bit j of a row of `bits`:
// item taken. Columns left of the table hold -infinity for the knapsack, so that nothing is asked of the column.
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
            const int taken = k >= weight ? tile[k - weight] + value : old;    // else in the margin: nobody needs it
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
        for (int k = from; k < full; ++k)       // nothing is taken, or nobody needs it
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
            const ulong eight = *(global const ulong *)(won + k) & 0x0101010101010101UL;    // beyond the end is anything
            bits[(i * pitch + base + k) / 8] = (uchar)(eight * 0x0102040810204080UL >> 56);
        }
#endif
#else
        const int diagonal = min(max(i - base, from), end);
        if (from < diagonal)        // column 0, or one that nobody needs but the column beside it
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
