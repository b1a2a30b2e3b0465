<%page args="equation='', rounded=False, turned=False, better='<', start='INT_MAX', bare=True, track=False, nan=False, left=0, right=1, first=0, last=0, variant='group', wg_size=256, items_per_thread=4"/>\
<%
    side = int(wg_size**0.5)
    tile = side * items_per_thread
%>\
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
// Item (x, y) of a group has ITEMS x ITEMS cells in registers; runs of both operands pass through local memory.
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
#define TILE ${tile}
#define LEFT ${left}
#define RIGHT ${right}
#define FIRST ${first}   // k begins at i + FIRST
#define LAST ${last}    // and ends before j + LAST
#define SIDE ${side}              // items along a side of the tile
#define ITEMS ${items_per_thread}             // cells of an item along each side
#define RUN 16              // splits in local memory at once

// Loads both operands of the splits run .. run + count - 1 to local memory, the left one transposed.
inline void load_run(local cell_t (*left)[TILE + 1], local cell_t (*right)[TILE], global const cell_t *restrict table,
                     const int pitch, const int run, const int count, const int i0, const int j0, const int n, const int m, const int lid)
{
    for (int q = lid; q < RUN * TILE; q += WG_SIZE) {
        const int k = q % RUN, r = q / RUN;
        if (k < count)
            left[k][r] = table[(size_t)min(i0 + r, n - 1) * pitch + run + k + LEFT];
    }
    for (int q = lid; q < RUN * TILE; q += WG_SIZE) {
        const int c = q % TILE, k = q / TILE;
        if (k < count)
            right[k][c] = table[(size_t)min(run + k + RIGHT, n - 1) * pitch + min(j0 + c, m - 1)];
    }
}

// Split k of a run for the ITEMS x ITEMS cells (is[a], js[b]) of item (x, y).
inline void take_split(sum_t (*best)[ITEMS], int (*at)[ITEMS], local cell_t (*left)[TILE + 1], local cell_t (*right)[TILE],
                       const int run, const int k, const int *is, const int *js, const int x, const int y, const int n,
                       const int m DP_KERNEL_PARAMETERS)
{
    cell_t from_left[ITEMS], from_right[ITEMS];
    #pragma unroll
    for (int a = 0; a < ITEMS; ++a)
        from_left[a] = left[k][y + a * SIDE];
    #pragma unroll
    for (int b = 0; b < ITEMS; ++b)
        from_right[b] = right[k][x + b * SIDE];
    #pragma unroll
    for (int a = 0; a < ITEMS; ++a)
        #pragma unroll
        for (int b = 0; b < ITEMS; ++b)
            SPLIT_TAKE(SPLIT_SUM(is[a], js[b], run + k, from_left[a], from_right[b]), run + k, best[a][b], at[a][b]);
}

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
    local cell_t local_left[RUN][TILE + 1], local_right[RUN][TILE];
    const int lid = get_local_id(0), x = lid % SIDE, y = lid / SIDE;
    sum_t best[ITEMS][ITEMS];
    int at[ITEMS][ITEMS];
    int is[ITEMS], js[ITEMS];   // clamped to the table: values of cells beyond are not used
    for (int a = 0; a < ITEMS; ++a) {
        is[a] = min(i0 + y + a * SIDE, n - 1);
        js[a] = min(j0 + x + a * SIDE, m - 1);
        for (int b = 0; b < ITEMS; ++b) {
            best[a][b] = SPLIT_START;
            at[a][b] = SPLIT_FIRST(begin);
        }
    }
    for (int run = begin; run < end; run += RUN) {
        const int stop = min(RUN, end - run);
        load_run(local_left, local_right, table, pitch, run, stop, i0, j0, n, m, lid);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (stop == RUN) {
            #pragma unroll 4
            for (int k = 0; k < RUN; ++k)
                take_split(best, at, local_left, local_right, run, k, is, js, x, y, n, m DP_ARGUMENTS);
        } else {
            for (int k = 0; k < stop; ++k)
                take_split(best, at, local_left, local_right, run, k, is, js, x, y, n, m DP_ARGUMENTS);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int a = 0; a < ITEMS; ++a)
        for (int b = 0; b < ITEMS; ++b) {
            best_of[(y + a * SIDE) * TILE + x + b * SIDE] = best[a][b];
#if SPLIT_TRACK
            k_of[(y + a * SIDE) * TILE + x + b * SIDE] = at[a][b];
#endif
        }
}
