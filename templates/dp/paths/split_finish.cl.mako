<%page args="equation='', rounded=False, turned=False, better='<', start='INT_MAX', bare=True, track=False, nan=False, decided=None, left=0, right=1, first=0, last=0, tile=64, near=True, variant='group', wg_size=256, items_per_thread=4"/>\
// split_finish: a diagonal of tiles, of which split_product has done the splits between them (an item of a CPU does them
// itself where the diagonal has tiles for all: parts is 0).
//
//   +---------+   a cell needs the cells left of it and below it: the tile goes by antidiagonals from its lower left
//   | 3 4 5 6 |   corner, each cell shared by WG_SIZE / TILE items, which take its splits in turn. One split has one
//   | 2 3 4 5 |   operand in this tile and the other in the tile on the diagonal left of it or below it: a step is a
//   | 1 2 3 4 |   matter of latency, so both triangles of those are in local memory, too, where that has room.
//   | 0 1 2 3 |
//   +---------+   On CPUs an item goes by rows from the lowest, each row's splits in order, columns in vectors.
//
// Cells without splits are there already (split_empty). Work: TILE evaluations a cell; the lowest k wins.
% if rounded:
#define DP_ROUNDED_DIVIDE
% endif
#include "portable.h"
#include "dp/dp_math.h"
#define DP_CONTEXT , const cell_t dp_split, const int dp_split_k
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
% if variant == "serial":
#include "dp/dp_split_runs.h"
% endif

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void split_finish(const int n, const int m, const int diagonal, const int parts, const int from, global cell_t *table, const int pitch,
                  global const cell_t *restrict best_of, global int *restrict k_of
% if decided:
                  , global ${decided} *restrict decisions
% endif
                  DP_KERNEL_PARAMETERS)
{
    const int tile_row = from + get_group_id(0), tile_column = tile_row + diagonal;
    const int i0 = tile_row * TILE, j0 = tile_column * TILE ${'& SPLIT_MOST' if variant == 'serial' else ''};
    // splits k_first .. k_last - 1 are the product's
    const int k_first = i0 + TILE - 1 + FIRST, k_last = diagonal ? j0 + LAST : k_first;
    const bool product = k_last > k_first;
    best_of += (size_t)tile_row * parts * TILE * TILE;
    k_of += SPLIT_TRACK ? (size_t)tile_row * parts * TILE * TILE : 0;
#if DP_HAS_DECISION
    uint decision;
#endif
% if variant == "serial":
    const int width = min(TILE, m - j0), inside = j0 - LEFT;   // from this k on the left operand is in the tile
// Split k, whose left operand is there, for all columns of the row that have it. Of those that are done already nothing
// is asked: loops over whole tiles go in vectors.
#define SPLIT_COLUMNS(from, to) \
        for (int c = from; c < to; ++c) \
            SPLIT_TAKE(SPLIT_SUM(i, j0 + c, dp_k, dp_left, dp_right[c]), dp_k, best[c], at[c])
#define SPLIT_ROW(k, value) do { \
        const int dp_k = (k); \
        const cell_t dp_left = (value); \
        global const cell_t *dp_right = table + (size_t)min(dp_k + RIGHT, n - 1) * pitch + j0; \
        if (width == TILE && ${int(near)}) \
            SPLIT_COLUMNS(0, TILE); \
        else \
            SPLIT_COLUMNS(max(dp_k - LAST + 1 - j0, 0), width); \
    } while (0)
    cell_t product_best[TILE * TILE];
    int product_at[TILE * TILE];
    if (product && parts == 0)      // not worth a launch of its own
        item_splits(product_best, product_at, i0, j0, k_first, k_last, n, m, table, pitch DP_ARGUMENTS);
    for (int i = min(i0 + TILE, n) - 1; i >= i0; --i) {
        cell_t best[TILE];
        int at[TILE];
        for (int c = 0; c < TILE; ++c) {
            best[c] = SPLIT_START;
            at[c] = SPLIT_FIRST(i + FIRST);
        }
        global cell_t *row = table + (size_t)i * pitch;
        for (int k = i + FIRST; k < (product ? k_first : inside); ++k)
            SPLIT_ROW(k, row[max(k + LEFT, 0)]);
        if (product) {
            for (int p = 0; p < parts; ++p)
                for (int c = 0; c < TILE; ++c) {
                    const int q = (p * TILE + i - i0) * TILE + c;
                    SPLIT_JOIN(best_of[q], SPLIT_TRACK ? k_of[q] : 0, best[c], at[c]);
                }
            if (parts == 0)
                for (int c = 0; c < TILE; ++c)
                    SPLIT_JOIN(product_best[(i - i0) * TILE + c], product_at[(i - i0) * TILE + c], best[c], at[c]);
            for (int k = k_last; k < inside; ++k)
                SPLIT_ROW(k, row[k + LEFT]);
        }
        for (int d = max(i + FIRST + LEFT + 1 - j0, 0); d < width; ++d) {
            const int j = j0 + d;
            if (d && j - 1 - LEFT >= i + FIRST)     // the cell before is done now
                SPLIT_ROW(j - 1 - LEFT, row[j - 1]);
            if (i + FIRST >= j + LAST)
                continue;
            row[j] = dp_cell(SPLIT_PLACE(i, j), SPLIT_SHAPE, best[d], at[d] DP_ARGUMENTS DP_DECISION(&decision));
% if decided:
            decisions[(size_t)i * pitch + j] = (${decided})DP_STORED_DECISION(decision);
% endif
        }
    }
% else:
#define SHARE (WG_SIZE / TILE)        // items of a cell
#define PITCH (TILE + 1)              // neighbours in a column lie in different banks
#define HAS_SPLIT(i, j) ((i) + FIRST < (j) + LAST)
    // what is best so far, then cells that are done
    local cell_t cells[TILE * PITCH], best_here[SHARE][TILE];
#if SPLIT_TRACK
    local int at_here[SHARE][TILE];
#endif
    const int lid = get_local_id(0), r = lid % TILE, share = lid / TILE, i = i0 + r;
    for (int q = lid; q < TILE * TILE; q += WG_SIZE) {
        const int x = q / TILE, y = q % TILE;
        cell_t best = SPLIT_START;
        int at = -1;
        for (int p = 0; p < (product ? parts : 0); ++p)
            SPLIT_JOIN(best_of[p * TILE * TILE + q], k_of[p * TILE * TILE + q], best, at);
        if (!HAS_SPLIT(i0 + x, j0 + y))
            best = i0 + x < n && j0 + y < m ? table[(size_t)(i0 + x) * pitch + j0 + y] : (cell_t)0;
        cells[x * PITCH + y] = best;
#if SPLIT_TRACK
        if (product)
            k_of[q] = at;
#endif
    }
% if near:
    // Operands in the tiles on the diagonal, both in one square: the left one's row x from column x on, and, before it,
    // the right one's column x.
    local cell_t beside[TILE * PITCH];
    if (product)
        for (int q = lid; q < TILE * TILE; q += WG_SIZE) {
            const int x = q / TILE, y = q % TILE;
            if (y >= x)
                beside[x * PITCH + y] = table[(size_t)min(i0 + x, n - 1) * pitch + clamp(i0 + FIRST + LEFT + y, 0, m - 1)];
            else    // neighbours in memory are neighbouring items here, too
                beside[(TILE - 1 - y) * PITCH + TILE - 1 - x] = table[(size_t)min(k_last + RIGHT + TILE - 1 - x, n - 1) * pitch + min(j0 + TILE - 1 - y, m - 1)];
        }
% endif
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (int step = 0; step < 2 * TILE - 1; ++step) {
        const int c = step - (TILE - 1) + r, j = j0 + c;
        const bool here = c >= 0 && c < TILE && i < n && j < m && HAS_SPLIT(i, j);
        cell_t best = SPLIT_START;
        int at = -1, at_product = -1;
#if SPLIT_TRACK
        if (here && product && share == 0)
            at_product = k_of[r * TILE + c];
#endif
        if (here) {
            const int low = i + FIRST, high = j + LAST;
% if near:
            if (product) {
                at = low + share < k_first ? SPLIT_FIRST(low + share) : k_last + share < high ? SPLIT_FIRST(k_last + share) : -1;
                #pragma unroll 4
                for (int k = low + share; k < k_first; k += SHARE)
                    SPLIT_TAKE(SPLIT_SUM(i, j, k, beside[r * PITCH + k - i0 - FIRST], cells[(k + RIGHT - i0) * PITCH + c]), k, best, at);
                #pragma unroll 4
                for (int k = k_last + share; k < high; k += SHARE)
                    SPLIT_TAKE(SPLIT_SUM(i, j, k, cells[r * PITCH + k + LEFT - j0], beside[c * PITCH + k - k_last]), k, best, at);
            } else
% endif
            {
                const int before = min(k_first, high) - low;                       // splits before the product's
                const int all = product ? before + max(high - k_last, 0) : high - low;
                at = share >= all ? -1 : SPLIT_FIRST(share < before || !product ? low + share : k_last + share - before);
                for (int q = share; q < all; q += SHARE) {
                    const int k = q < before || !product ? low + q : k_last + q - before;
                    const int row = min(k + RIGHT, n - 1), column = max(k + LEFT, 0);
                    const cell_t a = column >= j0 ? cells[r * PITCH + column - j0] : table[(size_t)i * pitch + column];
                    const cell_t b = row < i0 + TILE ? cells[(row - i0) * PITCH + c] : table[(size_t)row * pitch + j];
                    SPLIT_TAKE(SPLIT_SUM(i, j, k, a, b), k, best, at);
                }
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
            if (product)
                SPLIT_JOIN(cells[r * PITCH + c], at_product, best, at);
            cells[r * PITCH + c] = dp_cell(SPLIT_PLACE(i, j), SPLIT_SHAPE, best, at DP_ARGUMENTS DP_DECISION(&decision));
% if decided:
            decisions[(size_t)i * pitch + j] = (${decided})DP_STORED_DECISION(decision);
% endif
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int q = lid; q < TILE * TILE; q += WG_SIZE)
        if (i0 + q / TILE < n && j0 + q % TILE < m)
            table[(size_t)(i0 + q / TILE) * pitch + j0 + q % TILE] = cells[q / TILE * PITCH + q % TILE];
% endif
}
