<%page args="equation='', rounded=False, turned=False, better='<', start='INT_MAX', bare=True, track=False, nan=False, decided=None, left=0, right=1, first=0, last=0, tile=64, near=True, variant='serial', wg_size=1, items_per_thread=1"/>\
// split_finish: a diagonal of tiles; split_product has computed the splits between tiles before. Where the diagonal has
// tiles for all items, an item computes those splits of its tile itself (parts is 0).
//
//   +---------+   a cell needs the cells left of it and below it: an item computes rows from the lowest one, the splits
//   | 3 . . . |   of a row in order, columns in vectors. The splits at columns of this row come last, one by one, as soon
//   | 2 . . . |   as their cells are finished.
//   | 1 . . . |
//   | 0 . . . |
//   +---------+
//
// Cells without splits are filled already (split_empty). Work: TILE evaluations for each cell; of equal ones the lowest k.
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
#include "dp/dp_split_runs.h"

// Split k, whose left operand is finished, for all columns of the row that have it. Finished columns take it again without
// effect, so that loops over whole tiles are vectorised.
#define SPLIT_COLUMNS(from, to) \
        for (int c = from; c < to; ++c) \
            SPLIT_TAKE(SPLIT_SUM(i, j0 + c, dp_k, dp_left, dp_right[c]), dp_k, best[c], at[c])
#define SPLIT_ROW(k, value) do { \
        const int dp_k = (k); \
        const sum_t dp_left = (value); \
        global const cell_t *dp_right = table + (size_t)min(dp_k + RIGHT, n - 1) * pitch + j0; \
        if (width == TILE && ${int(near)}) \
            SPLIT_COLUMNS(0, TILE); \
        else \
            SPLIT_COLUMNS(max(dp_k - LAST + 1 - j0, 0), width); \
    } while (0)

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void split_finish(const int n, const int m, const int diagonal, const int parts, const int from, global cell_t *table,
                  const int pitch, global const sum_t *restrict best_of, global int *restrict k_of
#if DP_WITH_DECIDED
                  , global ${decided} *restrict decisions
#endif
                  DP_KERNEL_PARAMETERS)
{
    const int tile_row = from + get_group_id(0), tile_column = tile_row + diagonal;
    const int i0 = tile_row * TILE, j0 = tile_column * TILE & SPLIT_MOST;
    // splits k_first .. k_last - 1 are the product's
    const int k_first = i0 + TILE - 1 + FIRST, k_last = diagonal ? j0 + LAST : k_first;
    const bool product = k_last > k_first;
    best_of += (size_t)tile_row * parts * TILE * TILE;
    k_of += SPLIT_TRACK ? (size_t)tile_row * parts * TILE * TILE : 0;
#if DP_HAS_DECISION
    uint decision;
#endif
    const int width = min(TILE, m - j0), inside = j0 - LEFT;   // from this k on the left operand is in the tile
    sum_t product_best[TILE * TILE];
    int product_at[TILE * TILE];
    if (product && parts == 0)      // too little work for its own launch
        item_splits(product_best, product_at, i0, j0, k_first, k_last, n, m, table, pitch DP_ARGUMENTS);
    for (int i = min(i0 + TILE, n) - 1; i >= i0; --i) {
        sum_t best[TILE];
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
            if (d && j - 1 - LEFT >= i + FIRST)     // the cell before is finished now
                SPLIT_ROW(j - 1 - LEFT, row[j - 1]);
            if (i + FIRST >= j + LAST)
                continue;
            int over = 0;
            row[j] = dp_cell(SPLIT_CELL(i, j), SPLIT_SHAPE, best[d], at[d] DP_ARGUMENTS DP_DECISION(&decision) DP_OVER(&over));
            SPLIT_NOTE_OVER(over, i, j);
#if DP_WITH_DECIDED
            decisions[(size_t)i * pitch + j] = (${decided})DP_STORED_DECISION(decision);
#endif
        }
    }
}
