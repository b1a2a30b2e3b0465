// dp_table.h: how kernels that fill stage by stage hold a table and read its cells. Included before the equation.
//
// Needs DP_CELL, DP_KIND (of the stages), DP_REVERSE, DP_LAYOUT, DP_RING (lines held, 0: the whole table), DP_CHUNKS and
// DP_SHIFT (a table in several buffers of 2^DP_SHIFT cells), DP_CHECK.
#include "dp_pattern.h"

// A table is one pointer, or 16 of them when it is larger than one allocation.
#define DP_ONE(type, p) global type *p##0
#define DP_MANY(type, p)                                                                                       \
    global type *p##0, global type *p##1, global type *p##2, global type *p##3, global type *p##4, global type *p##5, \
    global type *p##6, global type *p##7, global type *p##8, global type *p##9, global type *p##10,             \
    global type *p##11, global type *p##12, global type *p##13, global type *p##14, global type *p##15
#define DP_MANY_NAMES(p) p##0, p##1, p##2, p##3, p##4, p##5, p##6, p##7, p##8, p##9, p##10, p##11, p##12, p##13, p##14, p##15
#define DP_CHUNK_OF(type, name)                                                                                 \
    inline global type *name(const ulong at, const int shift, DP_MANY(type, p))                                 \
    {                                                                                                           \
        const uint chunk = (uint)(at >> shift);                                                                 \
        global type *const low = chunk < 4 ? (chunk < 2 ? (chunk < 1 ? p0 : p1) : (chunk < 3 ? p2 : p3))        \
                                           : (chunk < 6 ? (chunk < 5 ? p4 : p5) : (chunk < 7 ? p6 : p7));       \
        global type *const high = chunk < 12 ? (chunk < 10 ? (chunk < 9 ? p8 : p9) : (chunk < 11 ? p10 : p11))  \
                                             : (chunk < 14 ? (chunk < 13 ? p12 : p13) : (chunk < 15 ? p14 : p15)); \
        return (chunk < 8 ? low : high) + (at & (((ulong)1 << shift) - 1));                                     \
    }

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
#include "dp_check.h"
inline DP_CELL dp_guarded(const long a, const long b, const int i, const int j, const int n, const int m, const int start,
                          int *fault, DP_TABLE)
{
    int kind = 0;
    if (a < 0 || a >= n || b < 0 || b >= m)
        kind = DP_FAULT_RANGE;
    else if (!dp_allowed(DP_KIND, DP_REVERSE, a - i, b - j))
        kind = DP_FAULT_PATTERN;
    else {
        const int line = dp_line(DP_KIND, (int)a, (int)b, n);
        if ((DP_REVERSE ? dp_stages(DP_KIND, n, m) - 1 - line : line) < start) kind = DP_FAULT_START;
    }
    if (kind == 0) return DP_AT(DP_OFFSET((int)a, (int)b));
    dp_note(fault, kind, dp_clip(a), dp_clip(b));
    return 0;
}
#define DP_CONTEXT , DP_TABLE, const int dp_start, int *dp_fault
#define DP_PASS , DP_TABLE_NAMES, start, fault
#define M(a, b) ((cell_t)dp_guarded(a, b, i, j, n, m, dp_start, dp_fault, DP_TABLE_NAMES))
#else
#define DP_CONTEXT , DP_TABLE
#define DP_PASS , DP_TABLE_NAMES
#define M(a, b) DP_AT(DP_OFFSET(a, b))
#endif
