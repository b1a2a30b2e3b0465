<%page args="equation='', cell='int', kind='rows', reverse=False, layout='ROWS', ring=0, chunks=1, shift=0, keep=0, decisions='', decision_chunks=1, decision_bits=0, decision_shift=0, checked=0, divisors=False, rounded=False, record='', variant='group', wg_size=256, items_per_thread=1"/>\
// fill_stage: fills the lines of a table one after the other, the cells of a line in parallel. A stage is a row, a column or a
// diagonal, as `kind` says; with `reverse` the last line comes first.
//
//   rows: RUD, RDU     columns: CLR, CRL     nose: NOSE, SENO     sone: SONE, NESO
//   0 0 0 0            0 1 2 3               0 1 2 3              2 3 4 5       the stage of each cell
//   1 1 1 1            0 1 2 3               1 2 3 4              1 2 3 4
//   2 2 2 2            0 1 2 3               2 3 4 5              0 1 2 3
//
//   cells of a stage   | g0 g0 g0 .. | g1 g1 g1 .. | .. | g0 g0 g0 .. |     a group takes WG_SIZE cells, then strides over
//                                                                            the groups; on CPUs each has one long run
//
// A launch fills the stages first <= stage < last: one by all groups together, or several small ones by a single group with
// a barrier between them. Of a stage that takes long, it fills the cells low <= index < high. This kernel is the reference
// for all others, and the path of equations with far dependences.
// Work: one call of the equation per cell; memory: the reads of the equation, and one write per cell.
#define DP_WITH_DIVISORS ${int(divisors)}
#define DP_WITH_DECISIONS ${int(bool(decisions))}
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "portable.h"
${record}
#define WG_SIZE ${wg_size}
#define DP_ROUNDED_DIVIDE ${int(rounded)}
#define DP_CELL ${cell}
#define DP_KIND DP_${dict(rows="ROWS", columns="COLUMNS", nose="DIAGS_NOSE", sone="DIAGS_SONE")[kind]}
#define DP_REVERSE ${int(reverse)}
#define DP_LAYOUT DP_${layout}
#define DP_RING ${ring}           // lines held in memory, 0 for the whole table
#define DP_CHUNKS ${chunks}
#define DP_SHIFT ${shift}
#define DP_CHECK ${checked}
#if DP_WITH_DIVISORS
#define DP_DIVISORS
#endif
#include "dp/dp_math.h"
#include "dp/dp_table.h"
% if equation:
${equation}
% else:
#include "dp/dp_sample.h"
% endif
#define DP_KEEP ${keep}
#if DP_WITH_DECISIONS
#define DP_DECISIONS ${decisions}
#define DP_DECISION_CHUNKS ${decision_chunks}
#define DP_DECISION_SHIFT ${decision_shift}
#define DP_DECISION_BITS ${decision_bits}
#endif
#include "dp/dp_store.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void fill_stage(DP_STAGE_PARAMETERS)
{
    for (int stage = first; stage < last; ++stage) {
        const int line = DP_REVERSE ? dp_stages(DP_KIND, n, m) - 1 - stage : stage;
        const uint count = min((uint)dp_cells_on(DP_KIND, line, n, m), high);
#if CLGEOM_SERIAL
        const uint share = (count - low + get_num_groups(0) - 1) / get_num_groups(0);
        const uint begin = min(low + (uint)get_group_id(0) * share, count), end = min(begin + share, count);
        for (uint index = begin; index < end; ++index)
#else
        for (uint index = low + get_global_id(0); index < count; index += get_global_size(0))
#endif
            dp_fill_cell(dp_row_of(DP_KIND, line, (int)index, n, m), dp_column_of(DP_KIND, line, (int)index, m), stage, index,
                         DP_STAGE_NAMES);
% if variant == "group" and not checked:
        barrier(CLK_GLOBAL_MEM_FENCE);
% endif
    }
}
