<%page args="cell='int', op='max', value='int', kind='ROWS', unit=True, each=False, define='', parameters='global const int *dp_M0', names='dp_M0', access='dp_M0[dp_offset(DP_ROWS, a, b, n, m)]', variant='group', wg_size=128, items_per_thread=8"/>\
<%
    ops = ("min", "max", "argmin", "argmax", "sum", "count")
%>\
// reduce_cells: the ${op} of the cells of a region of a table, walked along the lines in which they lie in memory.
//
//   region   | line 0, part 0 | line 0, part 1 | .. |      a line is a row, a column or a diagonal of the region, cut into
//            | line 1, part 0 | ..             |    |      parts; a group takes parts, `groups` apart
//
//   out      ${"[ line 0, part 0 | line 0, part 1 | .. ]   a state for each part" if each else "[ group 0 | group 1 | .. ]   a state for each group"}
//
// Cell (r, c) of the region is cell (i + r * di, j + c * dj) of the table${"; both steps are 1" if unit else ""}. Ties go to the cell that comes first in the rows of
// the region. Reads every cell once.
#define DP_WITH_UNIT ${int(unit)}
#define DP_FOR_EACH ${int(each)}
#include "portable.h"
#define WG_SIZE ${wg_size}
#define CELL ${cell}
#define VALUE ${value}
#define FLOATS ${int(cell in ("float", "double"))}
#define CELL_IS_DOUBLE ${int(cell == "double")}
#define OP ${ops.index(op)}
#define KIND DP_${kind}
#define LANES ${items_per_thread}   // cells of a line that a work-item takes together, each for a state of its own
#define NUMBER(r, c) ${("(ulong)(c)" if kind == "ROWS" else "(ulong)(r)") if each else "((ulong)(r) * columns + (c))"}
#if DP_WITH_UNIT
#define DI 1
#define DJ 1
#else
#define DI di
#define DJ dj
#endif
#include "dp/dp_over.h"
#include "group/reduce.h"
#include "dp/dp_pattern.h"
#include "dp/dp_pointers.h"
${define}
inline ${cell} dp_read(const int a, const int b, const int n, const int m, ${parameters})
{
    return ${access};
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void reduce_cells(${parameters}, const int n, const int m, const int i, const int j, const int di, const int dj,
                  const int rows, const int columns, const uint parts, const uint length, const ulong tasks,
                  const VALUE neutral, const int comparison, const CELL bound, global over_t *out)
{
    const uint lid = get_local_id(0);
    local OVER_LOCAL local_states[WG_SIZE];
    over_t state[LANES];
    for (uint lane = 0; lane < LANES; ++lane)
        state[lane] = over_none(neutral);
    for (ulong task = get_group_id(0); task < tasks; task += get_num_groups(0)) {
        const int line = (int)(task / parts), count = dp_cells_on(KIND, line, rows, columns);
        const uint begin = min((uint)(task % parts) * length, (uint)count);
        const int cells = (int)min((uint)count - begin, length), mine = (int)lid * LANES, first = (int)begin + mine;
        const int turns = cells - mine >= LANES ? (cells - mine - LANES) / (WG_SIZE * LANES) + 1 : 0;
        for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
            for (int lane = 0; lane < LANES; ++lane) {
                const int index = first + turn * (WG_SIZE * LANES) + lane;
                const int r = dp_row_of(KIND, line, index, rows, columns), c = dp_column_of(KIND, line, index, columns);
                over_take(state + lane, dp_read(i + r * DI, j + c * DJ, n, m, ${names}), NUMBER(r, c), comparison, bound);
            }
        }
#if LANES > 1   // the last cells of a part, in one work-item
        for (int rest = mine + turns * (WG_SIZE * LANES); rest < cells; ++rest) {
            if (rest >= mine + turns * (WG_SIZE * LANES) + LANES) break;
            const int index = (int)begin + rest;
            const int r = dp_row_of(KIND, line, index, rows, columns), c = dp_column_of(KIND, line, index, columns);
            over_take(state, dp_read(i + r * DI, j + c * DJ, n, m, ${names}), NUMBER(r, c), comparison, bound);
        }
#endif
#if DP_FOR_EACH
        for (uint lane = 1; lane < LANES; ++lane) {
            state[0] = over_join(state[0], state[lane]);
            state[lane] = over_none(neutral);
        }
        OVER_GROUP(lid, local_states, state[0]);
        if (lid == 0)
            out[task] = state[0];
        state[0] = over_none(neutral);
#endif
    }
#if !DP_FOR_EACH
    for (uint lane = 1; lane < LANES; ++lane)
        state[0] = over_join(state[0], state[lane]);
    OVER_GROUP(lid, local_states, state[0]);
    if (lid == 0)
        out[get_group_id(0)] = state[0];
#endif
}
