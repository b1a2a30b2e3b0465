<%page args="code_bits=32, variant='serial', wg_size=1, items_per_thread=1"/>\
// shell_auto_subsequences: sorts whole h-subsequences of one gap in place. The version of CPUs.
//
//   codes    | s0 s1 s2 .. | s0 s1 s2 .. | ..      rows of `gap` elements; s is in h-subsequence s
//   group    |   a share   |                       neighbouring h-subsequences, LANES of them at a time, by insertion
//
// Insertion is a full sort, for moves of any length. Reads and writes every element once.
typedef ${"uint" if code_bits == 32 else "ulong"} code_t;
#define CODE_BITS ${code_bits}
#include "keys/shell_lanes.h"

// Inserts four rows from `row` on into those above, h-subsequences first to last. The last vector ends with the last
// h-subsequence; those that it shares with the vector before are already in order.
inline void insert_four_rows(global code_t *codes, ulong row, uint gap, uint first, uint last)
{
    const uint whole = last - first >= LANES ? last : first;
    for (uint s = first; s < whole; s += LANES) {
        const uint at = min(s, last - LANES);
        lanes_insert_four(codes + at, codes + row + at, gap);
    }
    for (uint s = whole; s < last; ++s)
        for (uint i = 0; i < 4; ++i)
            lane_insert(codes + s, codes + row + i * (ulong)gap + s, gap);
}

inline void insert_row(global code_t *codes, ulong row, uint gap, uint first, uint end)
{
    uint s = first;
    for (; s + LANES <= end; s += LANES)
        lanes_insert(codes + s, codes + row + s, gap);
    for (; s < end; ++s)
        lane_insert(codes + s, codes + row + s, gap);
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void shell_auto_subsequences(global code_t *codes, const uint n, const uint gap)
{
    const ulong groups = get_num_groups(0), group = get_group_id(0);
    const uint first = (uint)(gap * group / groups), last = (uint)(gap * (group + 1) / groups);
    ulong row = 0;
    for (; row + 3 * (ulong)gap + last <= n; row += 4 * (ulong)gap)
        insert_four_rows(codes, row, gap, first, last);
    for (; row < n; row += gap)   // up to three whole rows more, and one that is not
        insert_row(codes, row, gap, first, n - row < last ? (uint)(n - row) : last);
}
