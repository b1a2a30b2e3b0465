<%page args="equation='', rounded=False, turned=False, better='<', start='INT_MAX', bare=True, track=False, nan=False, decided=None, left=0, right=1, first=0, last=0, tile=64, near=True, variant='group', wg_size=256, items_per_thread=4"/>\
// split_finish: a diagonal of tiles; split_product has computed the splits between tiles before.
//
//   +---------+   a cell needs the cells left of it and below it: a tile is computed by antidiagonals from its lower
//   | 3 4 5 6 |   left corner. WG_SIZE / TILE items share a cell, and take its splits in turn. A split has one operand
//   | 2 3 4 5 |   in this tile and the other in the tile on the main diagonal left of it or below it. Latency limits a
//   | 1 2 3 4 |   step, so the triangles of these two tiles are in local memory, too, if they fit (near).
//   | 0 1 2 3 |
//   +---------+
//
// Cells without splits are filled already (split_empty). Work: TILE evaluations for each cell; of equal ones the lowest k.
#define DP_WITH_NEAR ${int(near)}
#define DP_WITH_DECIDED ${int(bool(decided))}
#define DP_ROUNDED_DIVIDE ${int(rounded)}
#include "portable.h"
#include "dp/dp_math.h"
#define DP_CONTEXT , const sum_t dp_split, const int dp_split_k
#define M(a, b) ((cell_t)0)
% if equation:
${equation}
% else:
#include "dp/dp_sample_split.h"
% endif
#define SPLIT_TRACK ${int(track)}
#define SPLIT_NAN ${int(nan)}
#define SPLIT_BARE ${int(bare)}
#define SPLIT_TURNED ${int(turned)}
#define SPLIT_BETTER(a, b) ((a) ${better} (b))
#define SPLIT_START (${start})
#include "dp/dp_split.h"
#define WG_SIZE ${wg_size}
#define TILE ${tile}
#define LEFT ${left}
#define RIGHT ${right}
#define FIRST ${first}   // k begins at i + FIRST
#define LAST ${last}    // and ends before j + LAST
#define SHARE (WG_SIZE / TILE)        // items of a cell
#define PITCH (TILE + 1)              // neighbours in a column lie in different banks
#define HAS_SPLIT(i, j) ((i) + FIRST < (j) + LAST)

// Loads the tile's cells to local memory: the best of the product's parts, with its k in `k_of`, and cells without splits.
inline void join_parts(local sum_t *cells, global const cell_t *table, const int pitch, global const sum_t *best_of,
                       global int *k_of, const int parts, const int i0, const int j0, const int n, const int m, const int lid)
{
    for (int q = lid; q < TILE * TILE; q += WG_SIZE) {
        const int x = q / TILE, y = q % TILE;
        sum_t best = SPLIT_START;
        int at = -1;
        for (int p = 0; p < parts; ++p)
            SPLIT_JOIN(best_of[p * TILE * TILE + q], k_of[p * TILE * TILE + q], best, at);
        if (!HAS_SPLIT(i0 + x, j0 + y))
            best = i0 + x < n && j0 + y < m ? table[(size_t)(i0 + x) * pitch + j0 + y] : (sum_t)0;
        cells[x * PITCH + y] = best;
#if SPLIT_TRACK
        if (parts)
            k_of[q] = at;
#endif
    }
}

#if DP_WITH_NEAR
// Loads the operands in the tiles on the main diagonal, both in one square: row x of the left one from column x on, and
// before it column x of the right one, transposed so that neighbouring items access neighbouring memory.
inline void load_beside(local sum_t *beside, global const cell_t *table, const int pitch, const int i0, const int j0,
                        const int k_last, const int n, const int m, const int lid)
{
    for (int q = lid; q < TILE * TILE; q += WG_SIZE) {
        const int x = q / TILE, y = q % TILE;
        if (y >= x)
            beside[x * PITCH + y] = table[(size_t)min(i0 + x, n - 1) * pitch + clamp(i0 + FIRST + LEFT + y, 0, m - 1)];
        else
            beside[(TILE - 1 - y) * PITCH + TILE - 1 - x] =
                table[(size_t)min(k_last + RIGHT + TILE - 1 - x, n - 1) * pitch + min(j0 + TILE - 1 - y, m - 1)];
    }
}

// The best of this item's share of the splits before those of the product, low .. k_first - 1, and after, k_last .. high - 1.
inline sum_t take_near(int *found, local const sum_t *cells, local const sum_t *beside, const int low, const int k_first,
                        const int k_last, const int high, const int share, const int i, const int j, const int i0,
                        const int j0, const int n, const int m DP_KERNEL_PARAMETERS)
{
    const int r = i - i0, c = j - j0;
    sum_t best = SPLIT_START;
    int at = low + share < k_first ? SPLIT_FIRST(low + share) : k_last + share < high ? SPLIT_FIRST(k_last + share) : -1;
    #pragma unroll 4
    for (int k = low + share; k < k_first; k += SHARE)
        SPLIT_TAKE(SPLIT_SUM(i, j, k, beside[r * PITCH + k - i0 - FIRST], cells[(k + RIGHT - i0) * PITCH + c]), k, best, at);
    #pragma unroll 4
    for (int k = k_last + share; k < high; k += SHARE)
        SPLIT_TAKE(SPLIT_SUM(i, j, k, cells[r * PITCH + k + LEFT - j0], beside[c * PITCH + k - k_last]), k, best, at);
    *found = at;
    return best;
}

#endif
// The same with operands of other tiles read from the table; without a product, of all splits low .. high - 1.
inline sum_t take_far(int *found, local const sum_t *cells, global const cell_t *table, const int pitch,
                       const bool product, const int low, const int k_first, const int k_last, const int high,
                       const int share, const int i, const int j, const int i0, const int j0, const int n, const int m
                       DP_KERNEL_PARAMETERS)
{
    const int before = min(k_first, high) - low;                       // splits before the product's
    const int all = product ? before + max(high - k_last, 0) : high - low;
    sum_t best = SPLIT_START;
    int at = share >= all ? -1 : SPLIT_FIRST(share < before || !product ? low + share : k_last + share - before);
    for (int q = share; q < all; q += SHARE) {
        const int k = q < before || !product ? low + q : k_last + q - before;
        const int row = min(k + RIGHT, n - 1), column = max(k + LEFT, 0);
        const sum_t a = column >= j0 ? cells[(i - i0) * PITCH + column - j0] : table[(size_t)i * pitch + column];
        const sum_t b = row < i0 + TILE ? cells[(row - i0) * PITCH + j - j0] : table[(size_t)row * pitch + j];
        SPLIT_TAKE(SPLIT_SUM(i, j, k, a, b), k, best, at);
    }
    *found = at;
    return best;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void split_finish(const int n, const int m, const int diagonal, const int parts, const int from, global cell_t *table,
                  const int pitch, global const sum_t *restrict best_of, global int *restrict k_of
#if DP_WITH_DECIDED
                  , global ${decided} *restrict decisions
#endif
                  DP_KERNEL_PARAMETERS)
{
    const int tile_row = from + get_group_id(0), tile_column = tile_row + diagonal;
    const int i0 = tile_row * TILE, j0 = tile_column * TILE;
    // splits k_first .. k_last - 1 are the product's
    const int k_first = i0 + TILE - 1 + FIRST, k_last = diagonal ? j0 + LAST : k_first;
    const bool product = k_last > k_first;
    best_of += (size_t)tile_row * parts * TILE * TILE;
    k_of += SPLIT_TRACK ? (size_t)tile_row * parts * TILE * TILE : 0;
#if DP_HAS_DECISION
    uint decision;
#endif
    // the best so far, then cells that are finished
    local sum_t cells[TILE * PITCH], best_here[SHARE][TILE];
#if SPLIT_TRACK
    local int at_here[SHARE][TILE];
#endif
    const int lid = get_local_id(0), r = lid % TILE, share = lid / TILE, i = i0 + r;
    join_parts(cells, table, pitch, best_of, k_of, product ? parts : 0, i0, j0, n, m, lid);
#if DP_WITH_NEAR
    local sum_t beside[TILE * PITCH];
    if (product)
        load_beside(beside, table, pitch, i0, j0, k_last, n, m, lid);
#endif
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (int step = 0; step < 2 * TILE - 1; ++step) {
        const int c = step - (TILE - 1) + r, j = j0 + c;
        const bool here = c >= 0 && c < TILE && i < n && j < m && HAS_SPLIT(i, j);
        sum_t best = SPLIT_START;
        int at = -1, at_product = -1;
#if SPLIT_TRACK
        if (here && product && share == 0)
            at_product = k_of[r * TILE + c];
#endif
        if (here) {
#if DP_WITH_NEAR
            if (product)
                best = take_near(&at, cells, beside, i + FIRST, k_first, k_last, j + LAST, share, i, j, i0, j0, n, m
                                 DP_ARGUMENTS);
            else
#endif
                best = take_far(&at, cells, table, pitch, product, i + FIRST, k_first, k_last, j + LAST, share, i, j, i0, j0, n, m
                                DP_ARGUMENTS);
        }
        best_here[share][r] = best;
#if SPLIT_TRACK
        at_here[share][r] = at;
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
        if (here && share == 0) {
            for (int s = 1; s < SHARE; ++s)
                SPLIT_JOIN(best_here[s][r], at_here[s][r], best, at);
            if (product)
                SPLIT_JOIN(cells[r * PITCH + c], at_product, best, at);
            int over = 0;
            cells[r * PITCH + c] =
                dp_cell(SPLIT_CELL(i, j), SPLIT_SHAPE, best, at DP_ARGUMENTS DP_DECISION(&decision) DP_OVER(&over));
            SPLIT_NOTE_OVER(over, i, j);
#if DP_WITH_DECIDED
            decisions[(size_t)i * pitch + j] = (${decided})DP_STORED_DECISION(decision);
#endif
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int q = lid; q < TILE * TILE; q += WG_SIZE)
        if (i0 + q / TILE < n && j0 + q % TILE < m)
            table[(size_t)(i0 + q / TILE) * pitch + j0 + q % TILE] = cells[q / TILE * PITCH + q % TILE];
}
