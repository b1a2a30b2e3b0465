// dp/dp_table.h: how kernels that fill stage by stage hold a table and read its cells. Included before the equation.
//
// Needs DP_CELL, DP_KIND (of the stages), DP_REVERSE, DP_LAYOUT, DP_RING (lines held, 0: the whole table), DP_CHUNKS and
// DP_SHIFT (a table in several buffers of 2^DP_SHIFT cells), and DP_CHECK. DP_CHECK 1 makes the checks of check=True. 2 is
// for the trial of a few cells: cells before the stage `start` are known to be 0, and cells from there on are those in
// memory if `known`. Errors that follow from reading unknown cells are not faults.
#include "dp/dp_pattern.h"
#include "dp/dp_pointers.h"

#if DP_CHUNKS > 1
#define DP_TABLE DP_MANY(DP_CELL, dp_t)
#define DP_TABLE_NAMES DP_MANY_NAMES(dp_t)
DP_CHUNK_OF(DP_CELL, dp_cell_at)
#define DP_AT(at) (*dp_cell_at(at, DP_SHIFT, DP_TABLE_NAMES))
#else
#define DP_TABLE DP_ONE(DP_CELL, dp_t)
#define DP_TABLE_NAMES dp_t0
#define DP_AT(at) dp_t0[at]
#endif

#if DP_RING
#define DP_OFFSET(a, b) dp_ring_offset(DP_KIND, DP_RING, a, b, n, m)
#else
#define DP_OFFSET(a, b) dp_offset(DP_LAYOUT, a, b, n, m)
#endif

#if DP_CHECK
#include "dp/dp_check.h"
inline DP_CELL dp_guarded(const long a, const long b, const int i, const int j, const int n, const int m, const int start,
                          const int known, int *fault, DP_TABLE)
{
    int kind = 0;
    if (a < 0 || a >= n || b < 0 || b >= m)
        kind = DP_FAULT_RANGE;
    else if (!dp_allowed(DP_KIND, DP_REVERSE, a - i, b - j))
        kind = DP_FAULT_PATTERN;
    else {
        const int line = dp_line(DP_KIND, (int)a, (int)b, n);
        if ((DP_REVERSE ? dp_stages(DP_KIND, n, m) - 1 - line : line) < start) {
            if (DP_CHECK == 2) return DP_NO_CELL;
            kind = DP_FAULT_START;
        } else if (!known)
            kind = DP_MUTED;
    }
    if (kind == 0) return DP_AT(DP_OFFSET((int)a, (int)b));
    dp_note(fault, kind, dp_clip(a), dp_clip(b));
    return DP_NO_CELL;
}
#define DP_CONTEXT , DP_TABLE, const int dp_start, const int dp_known, int *dp_fault
#define DP_PASS , DP_TABLE_NAMES, start, known, fault
#define M(a, b) DP_AS_CELL(dp_guarded(a, b, i, j, n, m, dp_start, dp_known, dp_fault, DP_TABLE_NAMES))
#else
#define DP_CONTEXT , DP_TABLE
#define DP_PASS , DP_TABLE_NAMES
#define M(a, b) DP_AT(DP_OFFSET(a, b))
#endif
