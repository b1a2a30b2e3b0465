<%page args="cell='int', op='max', value='int', axis=0, unit=True, define='', parameters='global const int *dp_M0', names='dp_M0', access='dp_M0[dp_offset(DP_ROWS, a, b, n, m)]', variant='group', wg_size=128, items_per_thread=1"/>\
<%
    ops = ("min", "max", "argmin", "argmax", "sum", "count")
%>\
// reduce_across: the ${op} of every ${"column" if axis == 0 else "row"} of a region of a table, LANES to a work-item.
//
//   lines    | item 0 | item 1 | .. |      each walks along its ${"columns, row after row" if axis == 0 else "rows, column after column"}
//   out      [ part 0: line 0 | line 1 | .. | part 1: line 0 | .. ]   a state for each part of each line
//
// Cell (r, c) of the region is cell (i + r * di, j + c * dj) of the table${"; both steps are 1" if unit else ""}. Ties go to the first. Reads every cell once.
#define DP_WITH_UNIT ${int(unit)}
#include "portable.h"
#define WG_SIZE ${wg_size}
#define CELL ${cell}
#define VALUE ${value}
#define FLOATS ${int(cell in ("float", "double"))}
#define CELL_IS_DOUBLE ${int(cell == "double")}
#define OP ${ops.index(op)}
#define LANES ${items_per_thread}
#if DP_WITH_UNIT
#define DI 1
#define DJ 1
#else
#define DI di
#define DJ dj
#endif
#include "dp/dp_over.h"
#include "dp/dp_pattern.h"
#include "dp/dp_pointers.h"
${define}
inline ${cell} dp_read(const int a, const int b, const int n, const int m, ${parameters})
{
    return ${access};
}

// Takes `count` lines from `line` on, from cell `begin` to before `end` of each.
inline void take_lines(over_t *state, const int count, const int line, const int begin, const int end, const int i, const int j,
                       const int di, const int dj, const int n, const int m, const int comparison, const CELL bound, ${parameters})
{
    for (int k = begin; k < end; ++k)
        for (int lane = 0; lane < count; ++lane) {
% if axis == 0:
            const int r = k, c = line + lane;
% else:
            const int r = line + lane, c = k;
% endif
            over_take(state + lane, dp_read(i + r * DI, j + c * DJ, n, m, ${names}), (ulong)k, comparison, bound);
        }
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void reduce_across(${parameters}, const int n, const int m, const int i, const int j, const int di, const int dj,
                   const int lines, const int along, const uint parts, const int length, const VALUE neutral,
                   const int comparison, const CELL bound, global over_t *out)
{
    const uint blocks = ((uint)lines + LANES - 1) / LANES;
    for (ulong task = get_global_id(0); task < (ulong)blocks * parts; task += get_global_size(0)) {
        const int line = (int)(task % blocks) * LANES, begin = (int)(task / blocks) * length;
        const int end = along - begin < length ? along : begin + length;
        const int count = min(lines - line, LANES);
        over_t state[LANES];
        for (uint lane = 0; lane < LANES; ++lane)
            state[lane] = over_none(neutral);
        if (count == LANES)   // a constant, by which the compiler uses vectors
            take_lines(state, LANES, line, begin, end, i, j, di, dj, n, m, comparison, bound, ${names});
        else
            take_lines(state, count, line, begin, end, i, j, di, dj, n, m, comparison, bound, ${names});
        for (int lane = 0; lane < count; ++lane)
            out[task / blocks * lines + line + lane] = state[lane];
    }
}
