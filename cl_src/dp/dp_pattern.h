// dp/dp_pattern.h: layouts of a table, its stages, and the cells that a pattern allows a cell to read.
#define DP_ROWS 0
#define DP_COLUMNS 1
#define DP_DIAGS_NOSE 2
#define DP_DIAGS_SONE 3

// Cells on the diagonals before diagonal d of an n x m table; diagonals are counted from a corner.
inline ulong dp_before(const long d, const long n, const long m)
{
    const long p = min(n, m), q = max(n, m), rest = n + m - 1 - d;
    if (d <= p) return (ulong)(d * (d + 1) / 2);
    if (d <= q) return (ulong)(p * (p + 1) / 2 + (d - p) * p);
    return (ulong)(n * m - rest * (rest + 1) / 2);
}

// The row, column or diagonal of a cell, and the cell's index on it.
inline int dp_line(const int kind, const int a, const int b, const int n)
{
    return kind == DP_ROWS ? a : kind == DP_COLUMNS ? b : kind == DP_DIAGS_NOSE ? a + b : n - 1 - a + b;
}
inline int dp_index_on(const int kind, const int a, const int b, const int n, const int m)
{
    if (kind == DP_ROWS) return b;
    if (kind == DP_COLUMNS) return a;
    const int down = kind == DP_DIAGS_NOSE ? a : n - 1 - a;
    return down - max(0, dp_line(kind, a, b, n) - (m - 1));
}
inline ulong dp_offset(const int layout, const int a, const int b, const int n, const int m)
{
    if (layout == DP_ROWS) return (ulong)a * m + b;
    if (layout == DP_COLUMNS) return (ulong)b * n + a;
    return dp_before(dp_line(layout, a, b, n), n, m) + dp_index_on(layout, a, b, n, m);
}
// Offset of a cell in memory that holds only the last `ring` lines.
inline ulong dp_ring_offset(const int kind, const int ring, const int a, const int b, const int n, const int m)
{
    const int width = kind == DP_ROWS ? m : kind == DP_COLUMNS ? n : min(n, m);
    return (ulong)(dp_line(kind, a, b, n) % ring) * width + dp_index_on(kind, a, b, n, m);
}

inline int dp_stages(const int kind, const int n, const int m)
{
    return kind == DP_ROWS ? n : kind == DP_COLUMNS ? m : n + m - 1;
}
// The number of cells of a line, and the row and column of its cell `index`.
inline int dp_cells_on(const int kind, const int line, const int n, const int m)
{
    return kind == DP_ROWS ? m : kind == DP_COLUMNS ? n : min(min(line + 1, n + m - 1 - line), min(n, m));
}
inline int dp_row_of(const int kind, const int line, const int index, const int n, const int m)
{
    if (kind == DP_ROWS) return line;
    if (kind == DP_COLUMNS) return index;
    const int down = max(0, line - (m - 1)) + index;   // from the corner where the diagonals begin
    return kind == DP_DIAGS_NOSE ? down : n - 1 - down;
}
inline int dp_column_of(const int kind, const int line, const int index, const int m)
{
    return kind == DP_ROWS ? index : kind == DP_COLUMNS ? line : line - max(0, line - (m - 1)) - index;
}
// Whether a pattern allows a cell to read the cell di rows below and dj columns to the right of it.
inline bool dp_allowed(const int kind, const bool reverse, const long di, const long dj)
{
    const long r = reverse ? -di : di, c = reverse ? -dj : dj;
    if (kind == DP_ROWS) return r < 0;
    if (kind == DP_COLUMNS) return c < 0;
    if (r == 0 && c == 0) return false;
    return kind == DP_DIAGS_NOSE ? r <= 0 && c <= 0 : r >= 0 && c <= 0;
}
