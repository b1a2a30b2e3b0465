<%page args="code_bits=32, stage='sort', block=8, variant='group', wg_size=64, items_per_thread=1"/>\
<%
    serial = variant == "serial"
%>\
// shell_auto_columns: sorts whole columns of one gap in place, or blocks of their rows.
//
//   codes    | c0 c1 c2 .. | c0 c1 c2 .. | ..      rows of `gap` elements
% if serial:
//   group    |   a share   |                       neighbouring columns, LANES of them at a time, by insertion
//
// Insertion is a full sort of the columns, however far elements have to go.
% else:
//   items    one a column and block: rows offset + block * BLOCK on, in registers; neighbours take neighbouring columns
//
// stage "sort": a sorting network for all BLOCK rows. With rows <= BLOCK that is the whole pass.
// stage "merge": where both halves of a block are in order, merges them unless they already follow each other, and
// sets changed to `round` when it had to. Alternating offsets 0 and BLOCK / 2 until neither changes anything sort
// columns of any length (the fallback for gaps that no bound is known for).
% endif
// Reads and writes every element once.
typedef ${"uint" if code_bits == 32 else "ulong"} code_t;
#define CODE_BITS ${code_bits}
% if serial:
#include "keys/shell_lanes.h"

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void shell_auto_columns(global code_t *codes, const uint n, const uint gap)
{
    const ulong groups = get_num_groups(0), group = get_group_id(0);
    const uint first = (uint)(gap * group / groups), last = (uint)(gap * (group + 1) / groups);
    // The last vector ends with the last column. Columns that it shares with the one before are in order by then.
    const uint whole = last - first >= LANES ? last : first;
    ulong row = 0;
    for (; row + 3 * (ulong)gap + last <= n; row += 4 * (ulong)gap) {
        for (uint column = first; column < whole; column += LANES) {
            const uint at = min(column, last - LANES);
            lanes_insert_four(codes + at, codes + row + at, gap);
        }
        for (uint column = whole; column < last; ++column)
            for (uint i = 0; i < 4; ++i)
                lane_insert(codes + column, codes + row + i * (ulong)gap + column, gap);
    }
    for (; row < n; row += gap) {   // up to three whole rows more, and one that is not
        const uint end = n - row < last ? (uint)(n - row) : last;
        uint column = first;
        for (; column + LANES <= end; column += LANES)
            lanes_insert(codes + column, codes + row + column, gap);
        for (; column < end; ++column)
            lane_insert(codes + column, codes + row + column, gap);
    }
}
% else:
#define WG_SIZE ${wg_size}
#define BLOCK ${block}
#define LAST_CODE (~(code_t)0)   // stands in for rows beyond the end
#include "keys/shell_network.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void shell_auto_columns(global code_t *codes, const uint n, const uint gap, const uint offset, const uint round,
                        global uint *changed)
{
    const uint item = get_global_id(0);   // of less than n + gap
    const ulong first = ((ulong)(item / gap) * BLOCK + offset) * gap + item % gap;
% if stage == "merge":
    const ulong middle = first + (ulong)(BLOCK / 2) * gap;
    if (middle >= n || codes[middle - gap] <= codes[middle])
        return;
    *changed = round;
% endif
    code_t k[BLOCK];
% for i in range(block):
    k[${i}] = first + (ulong)${i} * gap < n ? codes[first + (ulong)${i} * gap] : LAST_CODE;
% endfor
    ${f"MERGE_{block}(k, 0, 1)" if stage == "merge" else f"SORT_{block}(k, 0)"}
% for i in range(block):
    if (first + (ulong)${i} * gap < n)
        codes[first + (ulong)${i} * gap] = k[${i}];
% endfor
}
% endif
