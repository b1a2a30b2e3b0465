<%page args="equation='', rounded=False, turned=False, start='INT_MAX', decided=None, first=0, last=0, variant='group', wg_size=256, items_per_thread=1"/>\
// split_empty: the cells that have no split (i + first >= j + last), in the rows from .. to - 1: a group takes whole rows.
//
//   x . . .
//   x x . .    x: computed here in parallel, because they read no cell
//   x x x .
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
#define WG_SIZE ${wg_size}
#define SPLIT_TURNED ${int(turned)}
#define SPLIT_TRACK 0
#define SPLIT_NAN 0
#define SPLIT_BARE 1
#define SPLIT_BETTER(a, b) ((a) < (b))
#include "dp/dp_split.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void split_empty(const int n, const int m, const int from, const int to, global cell_t *restrict table, const int pitch
#if DP_WITH_DECIDED
                 , global ${decided} *restrict decisions
#endif
                 DP_KERNEL_PARAMETERS)
{
    for (int i = from + get_group_id(0); i < to; i += get_num_groups(0)) {
        const int stop = clamp(i + 1 + ${first} - ${last}, 0, m);
        for (int j = get_local_id(0); j < stop; j += WG_SIZE) {
#if DP_HAS_DECISION
            uint decision;
#endif
            int over = 0;
            table[(size_t)i * pitch + j] = dp_cell(SPLIT_CELL(i, j), SPLIT_SHAPE, (sum_t)(${start}), -1 DP_ARGUMENTS
                                                   DP_DECISION(&decision) DP_OVER(&over));
            SPLIT_NOTE_OVER(over, i, j);
#if DP_WITH_DECIDED
            decisions[(size_t)i * pitch + j] = (${decided})DP_STORED_DECISION(decision);
#endif
        }
    }
}
