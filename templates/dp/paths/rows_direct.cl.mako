<%page args="equation='', loops='', rounded=False, flip_rows=False, trapped=False, bits=0, variant='group', wg_size=256, items_per_thread=4"/>\
<% passed = ", reach, stray" if trapped else "" %>\
// rows_direct: one row of a table whose cells read only the row before, from global memory or the caches; on CPUs several.
//
//   row above  | ........................ |
//   this row   | g0 g0 g0 | g1 g1 g1 | .. |   a group has WG_SIZE * ITEMS columns; on CPUs an item walks its share
//
// For reaches too wide for rows_fused, and for CPUs: there an item takes several rows of its columns, with as many columns
// beside them as these read, so that it needs nothing of its neighbours. A launch has the groups from `part` on: rows that
// take long are filled in parts. Memory: one row in and out, and a bit or more a decision.
% if rounded:
#define DP_ROUNDED_DIVIDE
% endif
#include "portable.h"
#include "dp/dp_math.h"
% if trapped:
#include "dp/dp_stray.h"
#define DP_CONTEXT , global const cell_t *dp_row, const int dp_base, const int2 dp_reach, global int *dp_stray
#define M(a, b) dp_row[dp_within(dp_stray, dp_reach, ${1 if flip_rows else -1}, m, i, j, a, b) - dp_base]
% else:
#define DP_CONTEXT , global const cell_t *dp_row, const int dp_base
#define M(a, b) dp_row[(b) - dp_base]
% endif
% if equation:
${equation}
% else:
#include "dp/dp_sample.h"
% endif
${loops}
#define WG_SIZE ${wg_size}
#define ITEMS ${items_per_thread}
#define BITS ${bits}     // of a decision; 0: none is kept

% if variant == "serial":
// Columns begin .. end - 1 of a row from the row before; both begin with column base in memory.
<%def name="columns(function, begin, end)">\
    for (int j = ${begin}; j < ${end}; ++j) {
#if DP_HAS_DECISION
        uint decision;
#endif
        target[j - base] = ${function}(i, j, n, m, source, base${passed} DP_ARGUMENTS DP_DECISION(&decision));
#if BITS
        won[j - base] = (uchar)decision;
#endif
    }
</%def>\
inline void fill_row(global cell_t *restrict target, global const cell_t *restrict source, global uchar *restrict won, const int base, const int begin,
                     const int end, const int i, const int n, const int m ${", const int2 reach, global int *stray" if trapped else ""} DP_KERNEL_PARAMETERS)
{
${columns("dp_cell", "begin", "end")}\
}
% if loops:
// The same for rows after the first, in loops that ask nothing of the column, which go in vectors; between them are
// columns alone.
inline void fill_loops(global cell_t *restrict target, global const cell_t *restrict source, global uchar *restrict won, const int base, const int begin,
                       const int end, const int i, const int n, const int m DP_KERNEL_PARAMETERS)
{
    const long cut = dp_cut(i, n, m DP_ARGUMENTS);
    long alone[] = DP_ALONE_COLUMNS;
    for (int a = 1; a < DP_ALONE; ++a)
        for (int b = a; b > 0 && alone[b] < alone[b - 1]; --b) {
            const long swap = alone[b];
            alone[b] = alone[b - 1];
            alone[b - 1] = swap;
        }
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

// Rows row .. row + count - 1; a group's scratch holds two rows of its columns and, for decisions, their bytes.
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rows_direct(const int n, const int m, const int part, const int row, const int count, const int left, const int right, const int from, const int to, const int core,
                 const int guard, const int width, const int keep, global cell_t *above, global cell_t *cells, const int pitch, global cell_t *scratch
% if trapped:
                 , global const int2 *restrict reaches, global int *stray
% endif
% if bits:
                 , global uchar *restrict decisions, const int decision_pitch
% endif
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
        const bool only = r == row + count - 1;   // the last row goes where it stays
        // with no neighbours the rows of a kept table are the memory
        const bool straight = keep && core >= m;
        global const cell_t *source = r == row ? above + (size_t)from * pitch + base
                                    : straight ? cells + (size_t)(i ${"+ 1" if flip_rows else "- 1"}) * pitch + base : rows[(r + 1) & 1];
        global cell_t *kept = cells + (size_t)(keep ? i : to) * pitch + base, *target = only || straight ? kept : rows[r & 1];
% if loops:
        if (r)
            fill_loops(target, source, won, base, only ? first : begin, only ? stop : end, i, n, m DP_ARGUMENTS);
        else
% endif
            fill_row(target, source, won, base, only ? first : begin, only ? stop : end, i, n, m${passed.replace('reach', 'reaches[r]')} DP_ARGUMENTS);
        if (keep && target != kept)
            for (int j = first; j < stop; ++j)
                kept[j - base] = target[j - base];
#if BITS
        for (int b = first * BITS / 8; b * (8 / BITS) < stop; ++b) {   // cores are of whole bytes
            global const uchar *from = won + b * (8 / BITS) - base;
#if BITS == 1 && defined(__ENDIAN_LITTLE__)
            // columns of memory begin at multiples of 16, and each product moves the byte of one column to its bit of
            // the highest byte; beyond the row is anything
            const uint packed = (*(global const ulong *)from & 0x0101010101010101UL) * 0x0102040810204080UL >> 56;
#elif BITS == 2 && defined(__ENDIAN_LITTLE__)
            const uint packed = (*(global const uint *)from & 0x03030303u) * 0x01041040u >> 24;
#else
            uint packed = 0;
            for (int c = 0; c < 8 / BITS; ++c)
                packed |= (uint)from[c] << (c * BITS);
#endif
            decisions[(size_t)r * decision_pitch + b] = (uchar)packed;
        }
#endif
    }
}
% else:
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rows_direct(const int n, const int m, const int part, const int row, const int from, const int to, global const cell_t *restrict above, global cell_t *restrict cells,
                 const int pitch
% if trapped:
                 , global const int2 *restrict reaches, global int *stray
% endif
% if bits:
                 , global uchar *restrict decisions, const int decision_pitch
% endif
                 DP_KERNEL_PARAMETERS)
{
    const int i = ${"n - 1 - row" if flip_rows else "row"};
% if trapped:
    const int2 reach = reaches[row];
% endif
    global const cell_t *source = above + (size_t)from * pitch;
    global cell_t *target = cells + (size_t)to * pitch;
#if DP_HAS_DECISION
    uint decision = 0;
#endif
% if not bits:
    #pragma unroll
    for (int c = 0; c < ITEMS; ++c) {
        const int j = ((part + (int)get_group_id(0)) * ITEMS + c) * WG_SIZE + (int)get_local_id(0);
        if (j < m)
            target[j] = dp_cell(i, j, n, m, source, 0${passed} DP_ARGUMENTS DP_DECISION(&decision));
    }
% else:
    local uchar won[ITEMS * WG_SIZE];
    const int first = (part + (int)get_group_id(0)) * ITEMS * WG_SIZE;
    for (int x = get_local_id(0); x < ITEMS * WG_SIZE; x += WG_SIZE) {
        decision = 0;
        if (first + x < m)
            target[first + x] = dp_cell(i, first + x, n, m, source, 0${passed} DP_ARGUMENTS DP_DECISION(&decision));
        won[x] = (uchar)decision;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int x = get_local_id(0) * (8 / BITS); x < ITEMS * WG_SIZE && first + x < m; x += WG_SIZE * (8 / BITS)) {
        uint packed = 0;
        for (int c = 0; c < 8 / BITS && x + c < ITEMS * WG_SIZE; ++c)
            packed |= (uint)won[x + c] << (c * BITS);
        decisions[(size_t)row * decision_pitch + (first + x) / (8 / BITS)] = (uchar)packed;
    }
% endif
}
% endif
