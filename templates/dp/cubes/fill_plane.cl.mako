<%page args="equation='', cell='int', value='int', pattern='IJK', ring=0, keep=0, reads=1, rounded=False, variant='group', wg_size=256, items_per_thread=1"/>\
// fill_plane: fills one plane of a table with three indices, its cells in parallel.
//
//   pattern   planes of equal   row u and column v of a plane
//   I         i                 j, k
//   J         j                 i, k
//   K         k                 i, j
//   IJK       i + j + k         j, k; cells with i outside the table are left out
//
//   box of a plane: rows u0, u0 + 1 .., columns v0 .. v0 + width - 1
//   cells low <= index < high of it, row by row  | g0 g0 g0 .. | g1 g1 g1 .. | .. |   on CPUs each group has one long run
//
// With a ring, the last `ring` planes are in memory, one after the other, else the whole table, its last index first. A read
// that is outside the table, or of a plane that is not filled, is noted: faults[0] is the number of a stage + 1, faults[1]
// the kind of a fault of one of its cells, then that cell, and the cell that it read, or an index and the size.
// Work: one call of the equation per cell; memory: the reads of the equation, and one write per cell.
#define DP_PATTERN_J ${int(pattern == "J")}
#define DP_PATTERN_K ${int(pattern == "K")}
#define DP_WITH_RING ${int(bool(ring))}
#define DP_PATTERN_IJK ${int(pattern == "IJK")}
#define DP_PATTERN_I ${int(pattern == "I")}
#define DP_WITH_KEPT ${int(bool(keep))}
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "portable.h"
#define WG_SIZE ${wg_size}
#define DP_ROUNDED_DIVIDE ${int(rounded)}
#include "dp/dp_math.h"
#include "dp/dp_check.h"

typedef ${cell} stored_t;
typedef ${value} value_t;
#define DP_CONTEXT , const int dp_plane, global const stored_t *dp_table, int *dp_fault
#define M(a, b, c) dp_read(a, b, c, n, m, dp_p, dp_plane, dp_table, dp_fault)
#define DP_PLANE(i, j, k) (${dict(I="i", J="j", K="k", IJK="(i) + (j) + (k)")[pattern]})

inline ulong dp_offset(const int i, const int j, const int k, const int n, const int m, const int p)
{
#if DP_WITH_RING
    const int slot = DP_PLANE(i, j, k) % ${ring};
#if DP_PATTERN_J
    return ((ulong)slot * n + i) * p + k;
#elif DP_PATTERN_K
    return ((ulong)slot * n + i) * m + j;
#else
    return ((ulong)slot * m + j) * p + k;
#endif
#else
    return ((ulong)i * m + j) * p + k;
#endif
}

inline value_t dp_read(const long a, const long b, const long c, const int n, const int m, const int p, const int plane,
                       global const stored_t *table, int *fault)
{
% if reads:
    const bool outside = a < 0 || a >= n || b < 0 || b >= m || c < 0 || c >= p;
    if (outside || DP_PLANE(a, b, c) >= plane) {
        if (fault[0] == 0) fault[3] = dp_clip(c);
        dp_note(fault, outside ? DP_FAULT_RANGE : DP_FAULT_PATTERN, dp_clip(a), dp_clip(b));
        return 0;
    }
% endif
    return (value_t)table[dp_offset((int)a, (int)b, (int)c, n, m, p)];
}

% if equation:
${equation}
% else:
#define DP_KERNEL_PARAMETERS
#define DP_ARGUMENTS
inline value_t dp_cell(const int i, const int j, const int dp_k, const int n, const int m, const int dp_p DP_CONTEXT)
{
    return i == 0 || j == 0 || dp_k == 0 ? 1 : dp_max_int(M(i - 1, j, dp_k), M(i, j - 1, dp_k));
}
% endif

// Computes the cell in this row and column of a plane, and stores it.
inline void fill_cell(const int u, const int v, const int plane, const int n, const int m, const int p,
                      global stored_t *table, global stored_t *kept, global int *faults DP_KERNEL_PARAMETERS)
{
#if DP_PATTERN_IJK
    const int i = plane - u - v, j = u, k = v;
#elif DP_PATTERN_I
    const int i = plane, j = u, k = v;
#elif DP_PATTERN_J
    const int i = u, j = plane, k = v;
#else
    const int i = u, j = v, k = plane;
#endif
    int fault[4] = {0, 0, 0, 0};
    const stored_t value = (stored_t)dp_cell(i, j, k, n, m, p, plane, table, fault DP_ARGUMENTS);
    if (fault[0] && atomic_cmpxchg(faults, 0, plane + 1) == 0) {
        faults[1] = fault[0];
        faults[2] = i;
        faults[3] = j;
        faults[4] = k;
        faults[5] = fault[1];
        faults[6] = fault[2];
        faults[7] = fault[3];
    }
    table[dp_offset(i, j, k, n, m, p)] = value;
#if DP_WITH_KEPT
    if (${dict(I="i == n - 1", J="j == m - 1", K="k == p - 1", IJK="i == n - 1")[pattern]})
        kept[(ulong)u * ${"m" if pattern == "K" else "p"} + v] = value;
#endif
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void fill_plane(global stored_t *table, global stored_t *kept, global int *faults, const int n, const int m, const int p,
                const int plane, const uint low, const uint high, const int u0, const int v0, const uint width
                DP_KERNEL_PARAMETERS)
{
#if CLGEOM_SERIAL
    const uint share = (high - low + get_num_groups(0) - 1) / get_num_groups(0);
    const ulong begin = min((ulong)low + (ulong)get_group_id(0) * share, (ulong)high);
    const ulong end = min(begin + share, (ulong)high);
    for (ulong row = begin; row < end;) {
        const int u = u0 + (int)(row / width);
        const uint from = (uint)(row % width);
        const uint count = (uint)min(end - row, (ulong)(width - from));
        int first = v0 + (int)from, last = first + (int)count;
#if DP_PATTERN_IJK
        first = max(first, plane - u - (n - 1));
        last = min(last, plane - u + 1);
#endif
        for (int v = first; v < last; ++v)
            fill_cell(u, v, plane, n, m, p, table, kept, faults DP_ARGUMENTS);
        row += count;
    }
#else
    for (ulong index = (ulong)low + get_global_id(0); index < high; index += get_global_size(0)) {
        const int u = u0 + (int)((uint)index / width), v = v0 + (int)((uint)index % width);
#if DP_PATTERN_IJK
        if (u + v > plane || plane - u - v >= n) continue;
#endif
        fill_cell(u, v, plane, n, m, p, table, kept, faults DP_ARGUMENTS);
    }
#endif
}
