<%page args="equation='', held='', held_types=(), rounded=False, record='', flip_rows=False, table=True, bits=0, guard_left=256, guard_right=0, far=False, variant='group', wg_size=64, items_per_thread=8"/>\
// rows_fused: several rows of a table whose cells read only the row before, in independent tiles in local memory.
//
//   row above   |<- left ->|<------ core ------>|<- right ->|    a tile: WG_SIZE * ITEMS columns; the guards beside them
//   row 1       | . .xxxxxx|xxxxxxxxxxxxxxxxxxxx|xxxxxx . . |    are read but never computed
//   row 2       | . . . .xx|xxxxxxxxxxxxxxxxxxxx|xx . . . . |    x: correct; the values at dots are never used for an x
//   row 3       | . . . . .|xxxxxxxxxxxxxxxxxxxx|. . . . . .|
//
// left and right are the sums over the rows of the reach of a cell, so the core is correct in the last row, and groups
// need no data of each other. Item t has columns t, t + WG_SIZE ..: neighbours are in different banks.
// Work: (core + left + right) / core evaluations for each cell; memory: one row in and out for each launch.
#define DP_WITH_TABLE ${int(table)}
#define DP_ROUNDED_DIVIDE ${int(rounded)}
#include "portable.h"
${record}
#include "dp/dp_math.h"
#define DP_ROW_CONTEXT , local const cell_t *dp_row, const int dp_base, const cell_t dp_above
#define DP_CONTEXT DP_ROW_CONTEXT
% if far:
// a tile of whole rows: reads beyond its guards are those of branches that are not taken
#define DP_AT(b) dp_row[clamp((int)(b) - dp_base, ${-guard_left}, ${wg_size * items_per_thread + guard_right - 1})]
% else:
#define DP_AT(b) dp_row[(b) - dp_base]
% endif
% if record:
#define M(a, b) DP_AT(b)
% else:
#define M(a, b) ((b) - (j) == 0 ? dp_above : DP_AT(b))   // an item holds the cells above its own
% endif
% if equation:
${equation}
% else:
#include "dp/dp_sample.h"
% endif
${held}
#include "dp/dp_overflow.h"
#define WG_SIZE ${wg_size}
#define ITEMS ${items_per_thread}
#define TILE (WG_SIZE * ITEMS)
#define GUARD_LEFT ${guard_left}
#define GUARD_RIGHT ${guard_right}
#define BITS ${bits}     // of a choice that is kept; 0: none is
#if BITS
#include "dp/dp_pack.h"
#endif
#if defined(__has_builtin)
#if __has_builtin(__builtin_assume)
#define ASSUME(condition) __builtin_assume(condition)
#endif
#endif
#ifndef ASSUME
#define ASSUME(condition)
#endif

// Rows row .. row + count - 1 in the order of filling; cells of row r lie from slot r modulo slots of the memory.
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rows_fused(const int n, const int m, const int row, const int count, const int left, const int right, const int from,
                const int to, global cell_t *restrict cells, const int pitch
#if BITS
                , global uchar *restrict decisions, const int decision_pitch
#endif
                DP_KERNEL_PARAMETERS)
{
    const int lid = get_local_id(0), core = TILE - left - right;
    const int start = (int)get_group_id(0) * core, stop = min(start + core, m), base = start - left;
    local cell_t window[GUARD_LEFT + TILE + GUARD_RIGHT];
    local cell_t *tile = window + GUARD_LEFT;
#if BITS
    local uchar won[TILE];
#endif
    global const cell_t *source = cells + (size_t)from * pitch;
    for (int x = lid - GUARD_LEFT; x < TILE + GUARD_RIGHT; x += WG_SIZE)
        tile[x] = row && base + x >= 0 && base + x < m ? source[base + x] : DP_NO_CELL;
    barrier(CLK_LOCAL_MEM_FENCE);
    cell_t value[ITEMS];
    #pragma unroll
    for (int c = 0; c < ITEMS; ++c)
        value[c] = tile[lid + c * WG_SIZE];
% if held:
<% elements = "".join(f", held{k}" for k in range(len(held_types))) %>\
    // elements of the next row are loaded while a row is computed
% for k, kind in enumerate(held_types):
    ${kind} next${k} = dp_load${k}(${"n - 1 - row" if flip_rows else "row"}, n, m DP_ARGUMENTS);
% endfor
% else:
    const bool inner = base >= 1 && base + TILE < m;
% endif
    for (int r = row; r < row + count; ++r) {
        const int i = ${"n - 1 - r" if flip_rows else "r"};
        uint decision[ITEMS];
        int over[ITEMS];
        #pragma unroll
        for (int c = 0; c < ITEMS; ++c)
            over[c] = 0;
% if held:
% for k, kind in enumerate(held_types):
        const ${kind} held${k} = next${k};
        next${k} = dp_load${k}(i ${"- 1" if flip_rows else "+ 1"}, n, m DP_ARGUMENTS);
% endfor
        if (r) {
            // all columns of the tile: values outside of the table are not used
            #pragma unroll
            for (int c = 0; c < ITEMS; ++c)
                value[c] = dp_cell_held(i, base + lid + c * WG_SIZE, n, m, tile, base, value[c]${elements} DP_ARGUMENTS DP_DECISION(&decision[c]) DP_OVER(&over[c]));
        } else {
% else:
        if (inner && r) {
            #pragma unroll
            for (int c = 0; c < ITEMS; ++c) {
                const int j = base + lid + c * WG_SIZE;
                ASSUME(j >= 1);
                value[c] = dp_cell(i, j, n, m, tile, base, value[c] DP_ARGUMENTS DP_DECISION(&decision[c]) DP_OVER(&over[c]));
            }
        } else {
% endif
            #pragma unroll
            for (int c = 0; c < ITEMS; ++c) {
                const int j = base + lid + c * WG_SIZE;
                const cell_t above = value[c];
                value[c] = DP_NO_CELL;
                decision[c] = 0;
                if (j >= 0 && j < m)
                    value[c] = dp_cell(i, j, n, m, tile, base, above DP_ARGUMENTS DP_DECISION(&decision[c]) DP_OVER(&over[c]));
            }
        }
#if DP_TRAPS    // cells of margins may hold any value
        #pragma unroll
        for (int c = 0; c < ITEMS; ++c) {
            const int j = base + lid + c * WG_SIZE;
            DP_NOTE_OVER(over[c] && j >= start && j < stop, i, j);
        }
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
        #pragma unroll
        for (int c = 0; c < ITEMS; ++c)
            tile[lid + c * WG_SIZE] = value[c];
#if DP_WITH_TABLE
        #pragma unroll
        for (int c = 0; c < ITEMS; ++c) {
            const int j = base + lid + c * WG_SIZE;
            if (j >= start && j < stop)
                cells[(size_t)i * pitch + j] = value[c];
        }
#endif
#if BITS
        #pragma unroll
        for (int c = 0; c < ITEMS; ++c)
            won[lid + c * WG_SIZE] = (uchar)decision[c];
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
#if BITS
        group_pack(decisions + (size_t)r * decision_pitch + start / PER_BYTE, won + left, stop - start, lid);
#endif
    }
#if !DP_WITH_TABLE
    for (int x = lid; x < stop - start; x += WG_SIZE)
        cells[(size_t)to * pitch + start + x] = tile[left + x];
#endif
}
