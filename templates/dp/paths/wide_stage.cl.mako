<%page args="equation='', cell='int', kind='rows', reverse=False, layout='ROWS', ring=0, chunks=1, shift=0, keep=0, decisions='', decision_chunks=1, decision_bits=0, decision_shift=0, rounded=False, record='', variant='group', wg_size=64, items_per_thread=1"/>\
// wide_stage: fills stages of few cells whose equation is a minimum, maximum or sum over many: a group of work-items per cell.
//
//   k       lo | 0 1 2 .. WG_SIZE-1 | 0 1 2 .. | hi     work-item x takes every WG_SIZE-th k, from lo + x
//   local   (best value, its k) of each work-item       reduced to the best, at its lowest k, or the sum
//   cell    the rest of the equation, by work-item 0
//
// Any pattern (kind, reverse); cells of a stage from index `low` on. Stages of one cell are filled by one group, several to a
// launch, with a barrier between.
// Work: one call of the reduction's body per cell and k.
#define DP_WITH_DECISIONS ${int(bool(decisions))}
#include "portable.h"
${record}
#define WG_SIZE ${wg_size}
#include "group/reduce.h"
#define DP_ROUNDED_DIVIDE ${int(rounded)}
#define DP_CELL ${cell}
#define DP_KIND DP_${dict(rows="ROWS", columns="COLUMNS", nose="DIAGS_NOSE", sone="DIAGS_SONE")[kind]}
#define DP_REVERSE ${int(reverse)}
#define DP_LAYOUT DP_${layout}
#define DP_RING ${ring}
#define DP_CHUNKS ${chunks}
#define DP_SHIFT ${shift}
#include "dp/dp_math.h"
#include "dp/dp_table.h"
% if equation:
${equation}
% else:
#include "dp/dp_sample_wide.h"
% endif
#define DP_KEEP ${keep}
#if DP_WITH_DECISIONS
#define DP_DECISIONS ${decisions}
#define DP_DECISION_CHUNKS ${decision_chunks}
#define DP_DECISION_SHIFT ${decision_shift}
#define DP_DECISION_BITS ${decision_bits}
#endif
#include "dp/dp_store.h"
typedef DP_WIDE_TYPE wide_t;

// Whether (value, k) replaces the best so far. Of equal values that of the lowest k is the best; index -1 means none.
inline bool goes_before(const wide_t value, const int k, const wide_t best, const int at)
{
    return k >= 0 && (at < 0 || value DP_WIDE_BETTER best || (value == best && k < at));
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void wide_stage(DP_STAGE_PARAMETERS)
{
    local wide_t values[WG_SIZE];
    local int offsets[WG_SIZE];   // of k from lo; -1 for none
    const int lid = get_local_id(0);
    for (int stage = first; stage < last; ++stage) {
        const int line = DP_REVERSE ? dp_stages(DP_KIND, n, m) - 1 - stage : stage;
        const int index = (int)low + (int)get_group_id(0);
        const int i = dp_row_of(DP_KIND, line, index, n, m), j = dp_column_of(DP_KIND, line, index, m);
        int lo, hi, at = -1;
        dp_range(&lo, &hi, i, j, n, m DP_PASS DP_ARGUMENTS);
        wide_t best = DP_WIDE_START;
        for (long k = (long)lo + lid; k < hi; k += WG_SIZE) {
            const wide_t value = dp_body((int)k, i, j, n, m DP_PASS DP_ARGUMENTS);
#ifdef DP_WIDE_ADD
            best = DP_WIDE_ADD(best, value);
#else
            if (value DP_WIDE_BETTER best || (at < 0 && value == best)) {
                best = value;
                at = (int)(k - lo);
            }
#endif
        }
        values[lid] = best;
        offsets[lid] = at;
#ifdef DP_WIDE_ADD
        GROUP_REDUCE(lid, other, values[lid] = DP_WIDE_ADD(values[lid], values[other]));
#else
        GROUP_REDUCE(lid, other, if (goes_before(values[other], offsets[other], values[lid], offsets[lid])) {
            values[lid] = values[other];
            offsets[lid] = offsets[other];
        });
#endif
        if (lid == 0) {
            uint decision = 0;
            const int k = offsets[0] < 0 ? -1 : lo + offsets[0];
            int over = 0;
            const cell_t value =
                dp_cell(i, j, n, m DP_PASS, values[0], k DP_ARGUMENTS DP_DECISION(&decision) DP_OVER(&over));
            DP_NOTE_OVER(over, i, j);
            dp_keep_cell(i, j, value, decision, DP_KEEP_NAMES, n, m);
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
}
