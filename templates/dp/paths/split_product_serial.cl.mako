<%page args="equation='', rounded=False, turned=False, better='<', start='INT_MAX', bare=True, track=False, nan=False, left=0, right=1, first=0, last=0, variant='serial', wg_size=1, items_per_thread=64"/>\
// split_product: the best of the splits k between two tiles on the main diagonal, for each cell of the tile (I, J).
//
//              K ..                 tile (I, J) of M = best over k of M(i, k + left) + M(k + right, j) + term(i, j, k),
//        +----+====+----+           for the k whose operands are both in finished tiles: a product of matrices with min
//     I  |    |left|(I,J)           and + instead of + and *. split_finish takes the other k.
//        +----+----+====+
//             |    |right  K + 1    the parts of a tile take runs of k in turn, so that short diagonals fill the device;
//             +----+----+           part p writes its best to parts[tile][p].
//
// The tiles of a diagonal from row `from` on: a long diagonal takes several launches.
// One item takes the rows of a tile, vectors of columns (dp/dp_split_runs.h); only diagonals of few tiles need this kernel.
// Work: T evaluations for each cell and tile between; memory: 2 / T reads for each evaluation.
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
#define TILE ${items_per_thread}
#define LEFT ${left}
#define RIGHT ${right}
#define FIRST ${first}   // k begins at i + FIRST
#define LAST ${last}    // and ends before j + LAST
#include "dp/dp_split_runs.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void split_product(const int n, const int m, const int diagonal, const int parts, const int from,
                   global const cell_t *restrict table, const int pitch, global sum_t *restrict best_of,
                   global int *restrict k_of DP_KERNEL_PARAMETERS)
{
    const int tile_row = from + get_group_id(0) / parts, part = get_group_id(0) % parts, tile_column = tile_row + diagonal;
    const int k_first = (tile_row + 1) * TILE - 1 + FIRST, k_last = tile_column * TILE + LAST;
    const int runs = (k_last - k_first + TILE - 1) / TILE;
    const int begin = k_first + (int)((long)runs * part / parts) * TILE;
    const int end = min(k_first + (int)((long)runs * (part + 1) / parts) * TILE, k_last);
    const int i0 = tile_row * TILE, j0 = tile_column * TILE;
    best_of += ((size_t)tile_row * parts + part) * TILE * TILE;
    k_of += SPLIT_TRACK ? ((size_t)tile_row * parts + part) * TILE * TILE : 0;
    sum_t best[TILE * TILE];
    int at[TILE * TILE];
    item_splits(best, at, i0, j0, begin, end, n, m, table, pitch DP_ARGUMENTS);
    for (int q = 0; q < TILE * TILE; ++q) {
        best_of[q] = best[q];
#if SPLIT_TRACK
        k_of[q] = at[q];
#endif
    }
}
