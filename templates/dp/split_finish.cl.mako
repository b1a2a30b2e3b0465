<%page args="equation='', rounded=False, turned=False, better='<', start='INT_MAX', bare=True, track=False, decided=None, left=0, right=1, first=0, last=0, tile=64, variant='group', wg_size=256, items_per_thread=4"/>\
// split_finish: a diagonal of tiles, of which split_product has done the splits between them.
//
//   +---------+   a cell needs the cells left of it and below it: the tile goes by antidiagonals from its lower left
//   | 3 4 5 6 |   corner, each cell shared by WG_SIZE / TILE items, which take its splits in turn. One split has one
//   | 2 3 4 5 |   operand in this tile and the other in the tile on the diagonal left of it or below it.
//   | 1 2 3 4 |
//   | 0 1 2 3 |   On CPUs an item goes by rows from the lowest, each row's splits in order, columns in vectors.
//   +---------+
//
// Cells without splits are there already (split_empty). Work: TILE evaluations a cell; the lowest k wins.
% if rounded:
#define DP_ROUNDED_DIVIDE
% endif
#include "portable.h"
#include "dp_math.h"
#define DP_CONTEXT , const cell_t dp_split, const int dp_split_k
#define M(a, b) ((cell_t)0)
% if equation:
${equation}
% else:
#include "dp_sample_split.h"
% endif
#define SPLIT_TRACK ${int(track)}
#define SPLIT_BARE ${int(bare)}
#define SPLIT_TURNED ${int(turned)}
#define SPLIT_BETTER(a, b) ((a) ${better} (b))
#define SPLIT_START (${start})
#include "dp_split.h"
#define WG_SIZE ${wg_size}
#define TILE ${tile}
#define LEFT ${left}
#define RIGHT ${right}
#define FIRST ${first}   // k begins at i + FIRST
#define LAST ${last}    // and ends before j + LAST

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void split_finish(const int n, const int m, const int diagonal, const int parts, global cell_t *table, const int pitch,
                  global const cell_t *restrict best_of, global const int *restrict k_of
% if decided:
                  , global ${decided} *restrict decisions
% endif
                  DP_KERNEL_PARAMETERS)
{
    const int tile_row = get_group_id(0), tile_column = tile_row + diagonal;
    const int i0 = tile_row * TILE, j0 = tile_column * TILE;
    // splits k_first .. k_last - 1 are the product's
    const int k_first = i0 + TILE - 1 + FIRST, k_last = parts ? j0 + LAST : k_first;
    best_of += (size_t)tile_row * parts * TILE * TILE;
    k_of += SPLIT_TRACK ? (size_t)tile_row * parts * TILE * TILE : 0;
#if DP_HAS_DECISION
    uint decision;
#endif
% if variant == "serial":
    const int width = min(TILE, m - j0), inside = j0 - LEFT;   // from this k on the left operand is in the tile
    for (int i = min(i0 + TILE, n) - 1; i >= i0; --i) {
        cell_t best[TILE];
        int at[TILE];
        for (int c = 0; c < TILE; ++c) {
            best[c] = SPLIT_START;
            at[c] = -1;
        }
        global cell_t *row = table + (size_t)i * pitch;
        for (int k = i + FIRST; k < inside; ++k) {
            if (k == k_first && k_last > k_first) {
                for (int p = 0; p < parts; ++p)
                    for (int c = 0; c < width; ++c) {
                        const int q = (p * TILE + i - i0) * TILE + c;
                        SPLIT_JOIN(best_of[q], SPLIT_TRACK ? k_of[q] : 0, best[c], at[c]);
                    }
                k = k_last - 1;
                continue;
            }
            const cell_t a = row[max(k + LEFT, 0)];
            global const cell_t *b = table + (size_t)min(k + RIGHT, n - 1) * pitch + j0;
            for (int c = max(k - LAST + 1 - j0, 0); c < width; ++c)
                SPLIT_TAKE(SPLIT_SUM(i, j0 + c, k, a, b[c]), k, best[c], at[c]);
        }
        for (int c = max(i + FIRST + LEFT + 1 - j0, 0); c < width; ++c) {
            const int j = j0 + c;
            // splits whose left operand is the cell before, which is done now
            const int k = j - 1 - LEFT;
            if (c && k >= i + FIRST) {
                const cell_t a = row[j - 1];
                global const cell_t *b = table + (size_t)min(k + RIGHT, n - 1) * pitch + j0;
                for (int d = max(k - LAST + 1 - j0, 0); d < width; ++d)
                    SPLIT_TAKE(SPLIT_SUM(i, j0 + d, k, a, b[d]), k, best[d], at[d]);
            }
            if (i + FIRST >= j + LAST)
                continue;
            row[j] = dp_cell(SPLIT_PLACE(i, j), SPLIT_SHAPE, best[c], at[c] DP_ARGUMENTS DP_DECISION(&decision));
% if decided:
            decisions[(size_t)i * pitch + j] = (${decided})DP_STORED_DECISION(decision);
% endif
        }
    }
% else:
#define SHARE (WG_SIZE / TILE)        // items of a cell
    local cell_t cells[TILE][TILE], best_here[SHARE][TILE];
#if SPLIT_TRACK
    local int at_here[SHARE][TILE];
#endif
    const int lid = get_local_id(0), r = lid % TILE, share = lid / TILE, i = i0 + r;
    for (int q = lid; q < TILE * TILE; q += WG_SIZE)
        cells[q / TILE][q % TILE] = i0 + q / TILE < n && j0 + q % TILE < m ? table[(size_t)(i0 + q / TILE) * pitch + j0 + q % TILE] : (cell_t)0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 0; step < 2 * TILE - 1; ++step) {
        const int c = step - (TILE - 1) + r, j = j0 + c;
        const bool here = c >= 0 && c < TILE && i < n && j < m && i + FIRST < j + LAST;
        cell_t best = SPLIT_START;
        int at = -1;
        if (here) {
            const int low = i + FIRST, high = j + LAST;
            const int before = min(k_first, high) - low;                       // splits before the product's
            const int all = k_last > k_first ? before + max(high - k_last, 0) : high - low;
            for (int q = share; q < all; q += SHARE) {
                const int k = q < before || k_last <= k_first ? low + q : k_last + q - before;
                const int row = min(k + RIGHT, n - 1), column = max(k + LEFT, 0);
                const cell_t a = column >= j0 ? cells[r][column - j0] : table[(size_t)i * pitch + column];
                const cell_t b = row < i0 + TILE ? cells[row - i0][c] : table[(size_t)row * pitch + j];
                SPLIT_TAKE(SPLIT_SUM(i, j, k, a, b), k, best, at);
            }
        }
        best_here[share][r] = best;
#if SPLIT_TRACK
        at_here[share][r] = at;
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
        if (here && share == 0) {
            for (int s = 1; s < SHARE; ++s)
                SPLIT_JOIN(best_here[s][r], at_here[s][r], best, at);
            for (int p = 0; p < (k_last > k_first ? parts : 0); ++p) {
                const int q = (p * TILE + r) * TILE + c;
                SPLIT_JOIN(best_of[q], k_of[q], best, at);
            }
            cells[r][c] = dp_cell(SPLIT_PLACE(i, j), SPLIT_SHAPE, best, at DP_ARGUMENTS DP_DECISION(&decision));
% if decided:
            decisions[(size_t)i * pitch + j] = (${decided})DP_STORED_DECISION(decision);
% endif
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int q = lid; q < TILE * TILE; q += WG_SIZE)
        if (i0 + q / TILE < n && j0 + q % TILE < m)
            table[(size_t)(i0 + q / TILE) * pitch + j0 + q % TILE] = cells[q / TILE][q % TILE];
% endif
}
