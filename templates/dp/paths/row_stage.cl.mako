<%page args="equation='', cell='int', reverse=False, layout='ROWS', ring=0, chunks=1, shift=0, keep=0, decisions='', decision_chunks=1, decision_bits=0, decision_shift=0, checked=0, divisors=False, rounded=False, variant='group', wg_size=256, items_per_thread=1"/>\
// row_stage: fills rows of a table one after the other, the cells of a row in parallel (patterns RUD, RDU).
//
//   stage 0   # # # # # # #    row 0 (reverse: row n - 1)
//   stage 1   # # # # # # #    group g takes cells g * WG_SIZE .., then strides over the groups
//   stage 2   . . . . . . .    reads stages before
//
// Stages first <= stage < last: one that all groups fill together, or several small ones that a single group fills with a
// barrier between them. Of a stage that takes long a launch fills the places low <= place < high. The reference that the
// fast paths are held to, and the path of equations that read far.
// Work: one call of the equation per cell; memory: what it reads, and one write per cell.
#include "portable.h"
#define WG_SIZE ${wg_size}
% if rounded:
#define DP_ROUNDED_DIVIDE
% endif
#define DP_CELL ${cell}
#define DP_KIND DP_ROWS
#define DP_REVERSE ${int(reverse)}
#define DP_LAYOUT DP_${layout}
#define DP_RING ${ring}           // lines held in memory, 0 for the whole table
#define DP_CHUNKS ${chunks}
#define DP_SHIFT ${shift}
#define DP_CHECK ${checked}
% if divisors:
#define DP_DIVISORS
% endif
#include "dp/dp_math.h"
#include "dp/dp_table.h"
% if equation:
${equation}
% else:
#include "dp/dp_sample.h"
% endif
#define DP_KEEP ${keep}
% if decisions:
#define DP_DECISIONS ${decisions}
#define DP_DECISION_CHUNKS ${decision_chunks}
#define DP_DECISION_SHIFT ${decision_shift}
#define DP_DECISION_BITS ${decision_bits}
% endif
#include "dp/dp_store.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void row_stage(DP_STAGE_PARAMETERS)
{
    for (int stage = first; stage < last; ++stage) {
        const int row = DP_REVERSE ? n - 1 - stage : stage;
        const uint count = min((uint)m, high);
% if variant == "serial":
        const uint share = (count - low + get_num_groups(0) - 1) / get_num_groups(0);
        const uint begin = min(low + (uint)get_group_id(0) * share, count), end = min(begin + share, count);
        for (uint place = begin; place < end; ++place)
% else:
        for (uint place = low + get_global_id(0); place < count; place += get_global_size(0))
% endif
            dp_fill_cell(row, (int)place, stage, place, DP_STAGE_NAMES);
% if variant == "group" and not checked:
        barrier(CLK_GLOBAL_MEM_FENCE);
% endif
    }
}
