<%page args="equation='', cell='int', kind='rows', reverse=False, row_step=1, column_step=1, corner_row='n - 1', corner_column='m - 1', declared='', located='', keep='corner', decisions='', traps=False, record='', rounded=False, variant='group', wg_size=64, items_per_thread=1"/>\
// batch_fill: fills many small tables, each by one group, which then takes the table after those of all other groups.
//
//   shapes   | n m | n m | n m | ..        parameters of table t, if each has its own:  values[at[t] .. at[t + 1] - 1]
//   tables   | n x m cells | n x m | ..    one after another, if they are kept; else memory for a table of each group
//   out      corners[t], and the line of each that is completed last: last[last_at[t] ..]
//
% if variant == "serial":
// One work-item fills a table cell after cell, in an order in which each cell comes after those that it reads.
% else:
// The items of a group fill a stage together, and wait for each other before the next.
% endif
// Work: one call of the equation for each cell.
#define DP_WITH_DECISIONS ${int(bool(decisions))}
#define DP_WITH_TRAPS ${int(traps)}
#define DP_KIND_COLUMNS ${int(kind == "columns")}
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "portable.h"
${record}
#define WG_SIZE ${wg_size}
#define DP_ROUNDED_DIVIDE ${int(rounded)}
#define DP_KIND DP_${dict(rows="ROWS", columns="COLUMNS", nose="DIAGS_NOSE", sone="DIAGS_SONE")[kind]}
#include "dp/dp_math.h"
#include "dp/dp_pattern.h"
#define DP_CONTEXT , global ${cell} *dp_table
#define M(a, b) dp_table[(long)(a) * m + (b)]
% if equation:
${equation}
% else:
#include "dp/dp_sample.h"
% endif
#include "dp/dp_overflow.h"

inline void fill_cell(const int i, const int j, const int n, const int m, const uint number, global ${cell} *table
#if DP_WITH_DECISIONS
                      , global ${decisions} *choices
#endif
                      DP_KERNEL_PARAMETERS)
{
    uint decision = 0;
    int over = 0;
    const cell_t value = dp_cell(i, j, n, m, table DP_ARGUMENTS DP_DECISION(&decision) DP_OVER(&over));
    table[(long)i * m + j] = DP_AS_STORED(value);
#if DP_WITH_TRAPS
    if (over) atomic_min(dp_overflow, (int)number);     // the first table with a cell beyond its type
#endif
#if DP_WITH_DECISIONS
    choices[(long)i * m + j] = (${decisions})DP_STORED_DECISION(decision);
#endif
}
<% passed = "n, m, t, table" + (", choices" if decisions else "") + " DP_ARGUMENTS" %>\

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void batch_fill(global const int2 *shapes, const uint count, global ${cell} *tables, global const ulong *offsets, const ulong slab
#if DP_WITH_DECISIONS
                , global ${decisions} *all_choices
#endif
                , global ${cell} *corners
% if keep in ("last", "decisions"):
                , global ${cell} *last, global const ulong *last_at
% endif
                ${declared}${', global int *dp_overflow' if traps else ''})
{
    const uint lid = get_local_id(0);
    for (uint t = get_group_id(0); t < count; t += get_num_groups(0)) {
        const int n = shapes[t].x, m = shapes[t].y;
        global ${cell} *table = tables + ${"offsets[t]" if keep == "table" else "get_group_id(0) * slab"};
#if DP_WITH_DECISIONS
        global ${decisions} *choices = all_choices + offsets[t];
#endif
        ${located}
#if CLGEOM_SERIAL
#if DP_KIND_COLUMNS
        for (int line = 0; line < m; ++line)
            for (int i = 0; i < n; ++i)
                fill_cell(i, ${"line" if column_step > 0 else "m - 1 - line"}, ${passed});
#else
        for (int line = 0; line < n; ++line)
            for (int index = 0; index < m; ++index)
                fill_cell(${"line" if row_step > 0 else "n - 1 - line"}, ${"index" if column_step > 0 else "m - 1 - index"}, ${passed});
#endif
#else
        const int stages = dp_stages(DP_KIND, n, m);
        for (int stage = 0; stage < stages; ++stage) {
            const int line = ${"stages - 1 - stage" if reverse else "stage"};
            const int cells = dp_cells_on(DP_KIND, line, n, m);
            for (int index = lid; index < cells; index += WG_SIZE)
                fill_cell(dp_row_of(DP_KIND, line, index, n, m), dp_column_of(DP_KIND, line, index, m), ${passed});
            barrier(CLK_GLOBAL_MEM_FENCE);
        }
#endif
        const int row = ${corner_row}, column = ${corner_column};
        if (lid == 0)
            corners[t] = table[(long)row * m + column];
% if keep in ("last", "decisions"):
        for (int k = lid; k < ${"n" if kind == "columns" else "m"}; k += WG_SIZE)
            last[last_at[t] + k] = ${"table[(long)k * m + column]" if kind == "columns" else "table[(long)row * m + k]"};
% endif
        barrier(CLK_GLOBAL_MEM_FENCE);      // the next table may take the place of this one
    }
}
