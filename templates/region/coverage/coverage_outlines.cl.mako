<%page args="variant='serial', wg_size=1, items_per_thread=1"/>\
// coverage_outlines: the parts of the runs of cells, their grid lines, and the outlines of parts of few lines. One
// work-item does all, on devices with few.
//
//   parents  | 0 0 1 3 3 .. |           a forest of runs; becomes the part of each run, in the order of first runs
//   lines    one beside each column of a part, and on it the part's lowest and highest corner: of parts with more than
//            `least` lines first, part after part, then of the others
//   rings    of parts of at most `most` lines: the lowest corners from left to right, then the highest ones back, without
//            corners on the line between their neighbours
//
// Reads every run twice; writes two corners a line.
#include "portable.h"
#define NONE INT_MAX

// Appends the corner on line k of `count` unless it is between its neighbours.
#define ADD_CORNER(rows)                                                                                          \
    if (k == 0 || k == count - 1 || 2 * rows[k] != rows[k - 1] + rows[k + 1]) {                                   \
        vstore2((float2)(x + k, rows[k]), made, corners);                                                         \
        ++made;                                                                                                   \
    }

// `firsts` has the first column of each part, `rings` its first vertex, and `lowers` the number of its lower vertices;
// counts[0] becomes the number of parts, counts[1] that of the lines of parts with more than `least`.
kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void coverage_outlines(global const int *restrict tops, global const int *restrict bottoms,
                       global const uint *restrict columns, const uint n, const uint width, const uint least,
                       const uint most, global uint *restrict parents, global uint *restrict firsts,
                       global uint *restrict spans, global uint *restrict begins, global ulong *restrict cells,
                       global int *restrict lows, global int *restrict highs, global uint *restrict rings,
                       global uint *restrict lowers, global float *restrict corners, global uint *restrict counts)
{
    uint parts = 0, lines = 0, made = 0;
    for (uint i = 0; i < n; ++i) {
        const uint part = parents[i] == i ? parts++ : parents[parents[i]], column = columns[i];
        const uint cells_here = bottoms[i] - tops[i] + 1;
        if (parents[i] == i) {
            firsts[part] = column;
            cells[part] = 0;
        }
        parents[i] = part;
        spans[part] = column - firsts[part] + 2;     // runs are in the order of columns
        cells[part] += cells_here;
    }
    counts[0] = parts;
    for (uint wide = 1;; wide = 0) {
        for (uint part = 0; part < parts; ++part)
            if ((spans[part] > least) == wide) {
                begins[part] = lines;
                lines += spans[part];
            }
        if (!wide)
            break;
        counts[1] = lines;
    }
    for (uint line = 0; line < lines; ++line) {
        lows[line] = NONE;
        highs[line] = -1;
    }
    for (uint i = 0; i < n; ++i) {
        const uint part = parents[i], line = begins[part] + columns[i] - firsts[part];
        const int low = tops[i], high = bottoms[i] + 1;
        lows[line] = min(lows[line], low);
        lows[line + 1] = min(lows[line + 1], low);
        highs[line] = max(highs[line], high);
        highs[line + 1] = max(highs[line + 1], high);
    }
    for (uint part = 0; part < parts; ++part) {
        const uint count = spans[part], x = firsts[part] % width;
        global const int *low = lows + begins[part], *high = highs + begins[part];
        const uint shown = count <= most ? count : 0;
        rings[part] = made;
        for (uint k = 0; k < shown; ++k)
            ADD_CORNER(low)
        lowers[part] = made - rings[part];
        for (uint k = shown; k-- > 0;)
            ADD_CORNER(high)
    }
    rings[parts] = made;
}
