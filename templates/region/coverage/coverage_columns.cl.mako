<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// coverage_columns: the covered rows beside each vertical grid line, and the lines that have any.
//
//   columns    |  0  |  1  |  2  |  ..            a group takes a region (a level of a map) and merges its bands
//   lines      0     1     2     3                line c lies between column c - 1 and column c
//   spans      [ region 0: (top, bottom) of line 0, line 1 .. | region 1: .. ]    rows as grid lines, too
//   ranks      the number of lines before it, in its region, that have a covered column beside them
//   counts     [ lines that have | .. | 0 ]
//
// Pixel corners lie on these lines only, and of those on one line only the highest and the lowest can be vertices. Reads
// the extents twice (the second time from the cache), writes 12 bytes for each line.
#define SEVERAL_ITEMS ${int(wg_size > 1)}
#include "portable.h"
#define WG_SIZE ${wg_size}
#include "group/scan.h"
GROUP_SCAN(group_scan_sums, local, uint, GROUP_SUM)
#define NONE INT_MAX

// Row of the first and row after the last covered cell of a column, over all bands.
inline int2 column_span(global const int *extents, uint columns, uint bands, int column)
{
    int2 span = (int2)(NONE, -1);
    if (column >= 0 && column < (int)columns)
        for (uint band = 0; band < bands; ++band) {
            const int first = extents[2 * (ulong)columns * band + column];
            const int last = extents[2 * (ulong)columns * band + columns + column];
            span.x = first < span.x ? first : span.x;
            span.y = last > span.y ? last : span.y;
        }
    return span;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void coverage_columns(global const int *extents, const uint columns, const uint bands, const uint regions,
                      global int *spans, global uint *ranks, global uint *counts)
{
    const uint lines = columns + 1, region = get_group_id(0), lid = get_local_id(0);
    const ulong row = (ulong)region * lines;
    uint before = 0;
    extents += 2 * (ulong)columns * bands * region;
#if SEVERAL_ITEMS
    local uint cells[2 * WG_SIZE];
#endif
    for (uint base = 0; base < lines; base += WG_SIZE) {
        const uint line = base + lid;
        int2 span = (int2)(NONE, -1);
        if (line < lines) {
            const int2 left = column_span(extents, columns, bands, (int)line - 1);
            const int2 right = column_span(extents, columns, bands, (int)line);
            span.x = left.x < right.x ? left.x : right.x;
            span.y = (left.y > right.y ? left.y : right.y) + 1;
            spans[2 * (row + line)] = span.x;
            spans[2 * (row + line) + 1] = span.y;
        }
        const uint occupied = span.x < span.y;
#if SEVERAL_ITEMS
        cells[lid] = occupied;
        const uint from = group_scan_sums(cells, WG_SIZE, lid);
        if (line < lines)
            ranks[row + line] = before + cells[from + lid] - occupied;
        before += cells[from + WG_SIZE - 1];
        barrier(CLK_LOCAL_MEM_FENCE);
#else
        ranks[row + line] = before;
        before += occupied;
#endif
    }
    if (lid == 0) {
        counts[region] = before;
        if (region == 0)
            counts[regions] = 0;
    }
}
