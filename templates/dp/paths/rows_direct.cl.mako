<%page args="equation='', rounded=False, record='', flip_rows=False, bits=0, variant='group', wg_size=256, items_per_thread=4"/>\
// rows_direct: one row of a table whose cells read only the row before, from global memory.
//
//   row above  | ........................ |
//   this row   | g0 g0 g0 | g1 g1 g1 | .. |   a group has WG_SIZE * ITEMS columns
//
// For equations that read too far for rows_fused. A launch has the groups from `part` on: rows that take long are filled
// in parts. Memory: one row in and out, and a bit or more for each choice.
#define DP_ROUNDED_DIVIDE ${int(rounded)}
#include "portable.h"
${record}
#include "dp/dp_math.h"
#define DP_CONTEXT , global const cell_t *dp_row, const int dp_base
#define M(a, b) dp_row[(b) - dp_base]
% if equation:
${equation}
% else:
#include "dp/dp_sample.h"
% endif
#include "dp/dp_overflow.h"
#define WG_SIZE ${wg_size}
#define ITEMS ${items_per_thread}
#define BITS ${bits}     // of a choice; 0: none is kept
#if BITS
#include "dp/dp_pack.h"
#endif

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rows_direct(const int n, const int m, const int part, const int row, const int from, const int to,
                 global const cell_t *restrict above, global cell_t *restrict cells, const int pitch
#if BITS
                 , global uchar *restrict decisions, const int decision_pitch
#endif
                 DP_KERNEL_PARAMETERS)
{
    const int i = ${"n - 1 - row" if flip_rows else "row"};
    global const cell_t *source = above + (size_t)from * pitch;
    global cell_t *target = cells + (size_t)to * pitch;
#if DP_HAS_DECISION
    uint decision = 0;
#endif
#if !BITS
    #pragma unroll
    for (int c = 0; c < ITEMS; ++c) {
        const int j = ((part + (int)get_group_id(0)) * ITEMS + c) * WG_SIZE + (int)get_local_id(0);
        int over = 0;
        if (j < m)
            target[j] = dp_cell(i, j, n, m, source, 0 DP_ARGUMENTS DP_DECISION(&decision) DP_OVER(&over));
        DP_NOTE_OVER(over, i, j);
    }
#else
    local uchar won[ITEMS * WG_SIZE];
    const int first = (part + (int)get_group_id(0)) * ITEMS * WG_SIZE;
    for (int x = get_local_id(0); x < ITEMS * WG_SIZE; x += WG_SIZE) {
        decision = 0;
        int over = 0;
        if (first + x < m)
            target[first + x] =
                dp_cell(i, first + x, n, m, source, 0 DP_ARGUMENTS DP_DECISION(&decision) DP_OVER(&over));
        DP_NOTE_OVER(over, i, first + x);
        won[x] = (uchar)decision;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    group_pack(decisions + (size_t)row * decision_pitch + first / PER_BYTE, won, min(ITEMS * WG_SIZE, m - first),
               get_local_id(0));
#endif
}
