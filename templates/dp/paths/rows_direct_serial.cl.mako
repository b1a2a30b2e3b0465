<%page args="equation='', loops='', rounded=False, record='', flip_rows=False, bits=0, variant='serial', wg_size=1, items_per_thread=1"/>\
// rows_direct: several rows of a table whose cells read only the row before; a work-item takes `core` columns of them.
//
//   row above   |<- left ->|<------ core ------>|<- right ->|
//   row 1       | . .xxxxxx|xxxxxxxxxxxxxxxxxxxx|xxxxxx . . |    x: correct. The margins are the sums over the rows of the
//   row 2       | . . . .xx|xxxxxxxxxxxxxxxxxxxx|xx . . . . |    reach of a cell, so that an item needs no data of its
//   row 3       | . . . . .|xxxxxxxxxxxxxxxxxxxx|. . . . . .|    neighbours. Two rows of an item stay in the cache.
//
// A launch has the items from `part` on: rows that take long are filled in parts. Work: (core + left + right) / core
// evaluations for each cell; memory: one row in and out for each launch, and a bit or more for each choice.
#define DP_WITH_LOOPS ${int(bool(loops))}
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
${loops}
#include "dp/dp_overflow.h"
#define WG_SIZE ${wg_size}
#define BITS ${bits}     // of a choice; 0: none is kept
#if BITS
#include "dp/dp_pack.h"
#endif

// Columns begin .. end - 1 of a row from the row before; both begin with column base in memory.
<%def name="columns(function, begin, end)">\
    {
    int over = 0;
    for (int j = ${begin}; j < ${end}; ++j) {
#if DP_HAS_DECISION
        uint decision;
#endif
        target[j - base] = ${function}(i, j, n, m, source, base DP_ARGUMENTS DP_DECISION(&decision) DP_OVER(&over));
#if BITS
        won[j - base] = (uchar)decision;
#endif
    }
#if DP_TRAPS    // cells of margins may hold any value
    for (int j = max(${begin}, first); over && j < min(${end}, stop); ++j) {
        uint decision;
        int beyond = 0;
        ${function}(i, j, n, m, source, base DP_ARGUMENTS DP_DECISION(&decision) DP_OVER(&beyond));
        DP_NOTE_OVER(beyond, i, j);
    }
#endif
    }
</%def>\
inline void fill_row(global cell_t *restrict target, global const cell_t *restrict source, global uchar *restrict won,
                     const int base, const int begin, const int end, const int first, const int stop, const int i, const int n, const int m
                     DP_KERNEL_PARAMETERS)
{
${columns("dp_cell", "begin", "end")}\
}
% if loops:
inline void sort_columns(long *columns)
{
    for (int a = 1; a < DP_ALONE; ++a)
        for (int b = a; b > 0 && columns[b] < columns[b - 1]; --b) {
            const long swap = columns[b];
            columns[b] = columns[b - 1];
            columns[b - 1] = swap;
        }
}

// The same for rows after the first: vectorised loops in which conditions on the column are constant; between them are
// single columns.
inline void fill_loops(global cell_t *restrict target, global const cell_t *restrict source, global uchar *restrict won,
                       const int base, const int begin, const int end, const int first, const int stop, const int i, const int n, const int m
                       DP_KERNEL_PARAMETERS)
{
    const long cut = dp_cut(i, n, m DP_ARGUMENTS);
    long alone[] = DP_ALONE_COLUMNS;
    sort_columns(alone);
    int from = begin;
    for (int a = 0; a <= DP_ALONE; ++a) {
        const int to = alone[a] < from ? from : alone[a] > end ? end : (int)alone[a];
        const int middle = cut < from ? from : cut > to ? to : (int)cut;
${columns("dp_cell_left", "from", "middle")}\
${columns("dp_cell_right", "middle", "to")}\
        from = to;
        if (to < end && alone[a] == to) {
${columns("dp_cell", "to", "to + 1")}\
            ++from;
        }
    }
}
% endif

// Rows row .. row + count - 1; an item's scratch holds two rows of its columns and, for choices, their bytes.
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rows_direct(const int n, const int m, const int part, const int row, const int count, const int left, const int right,
                 const int from, const int to, const int core, const int guard, const int width, const int keep,
                 global cell_t *above, global cell_t *cells, const int pitch, global cell_t *scratch
#if BITS
                 , global uchar *restrict decisions, const int decision_pitch
#endif
                 DP_KERNEL_PARAMETERS)
{
    const int first = (part + (int)get_group_id(0)) * core, stop = min(first + core, m);
    const int begin = max(first - left, 0), end = min(stop + right, m), base = begin - guard;
    global cell_t *rows[2];
    scratch += (size_t)get_group_id(0) * 3 * width;
    rows[0] = scratch;
    rows[1] = scratch + width;
    global uchar *won = (global uchar *)(scratch + 2 * width);
    for (int r = row; r < row + count; ++r) {
        const int i = ${"n - 1 - r" if flip_rows else "r"};
        const bool only = r == row + count - 1;   // the last row is written to its final memory
        // with one item the rows are written to the table directly
        const bool straight = keep && core >= m;
        global const cell_t *source = r == row ? above + (size_t)from * pitch + base
                                    : straight ? cells + (size_t)(i ${"+ 1" if flip_rows else "- 1"}) * pitch + base
                                               : rows[(r + 1) & 1];
        global cell_t *kept = cells + (size_t)(keep ? i : to) * pitch + base, *target = only || straight ? kept : rows[r & 1];
#if DP_WITH_LOOPS
        if (r)
            fill_loops(target, source, won, base, only ? first : begin, only ? stop : end, first, stop, i, n, m DP_ARGUMENTS);
        else
#endif
            fill_row(target, source, won, base, only ? first : begin, only ? stop : end, first, stop, i, n,
                     m DP_ARGUMENTS);
        if (keep && target != kept)
            for (int j = first; j < stop; ++j)
                kept[j - base] = target[j - base];
#if BITS
        for (int b = first / PER_BYTE; b * PER_BYTE < stop; ++b)   // cores consist of whole bytes
            decisions[(size_t)r * decision_pitch + b] = item_pack(won + b * PER_BYTE - base);   // bits beyond the row are not used
#endif
    }
}
