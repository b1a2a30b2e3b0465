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
// Reads every run twice; writes two corners a line, and up to two vertices.
#include "portable.h"

// Facts of a part: its first column, its numbers of lines and lower vertices, its first line and vertex; then its cells.
#define FIRST 0
#define SPAN 1
#define LOWERS 2
#define LINE 3
#define RING 4
#define CELLS 3               // as ulong
#define FACTS 8

// Appends the corner on line k of `count` unless it is between its neighbours.
#define ADD_CORNER(points)                                                                                        \
    if (k == 0 || k == count - 1 || 2 * points[k].y != points[k - 1].y + points[k + 1].y) {                       \
        corners[made] = points[k];                                                                                \
        ++made;                                                                                                   \
    }

// Row 0 of `facts` has the number of parts, of lines of parts with more than `least`, and of vertices; then a row a part.
kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void coverage_outlines(global const int *restrict tops, global const int *restrict bottoms,
                       global const uint *restrict columns, const uint n, const uint width, const uint least,
                       const uint most, global uint *restrict parents, global ulong *restrict memory,
                       global float2 *restrict lower, global float2 *restrict upper, global float2 *restrict corners)
{
    global uint *const facts = (global uint *)(memory + FACTS / 2);
    global ulong *const cells = memory + FACTS / 2 + CELLS;
    uint parts = 0, lines = 0, made = 0, wide_lines = 0;
    for (uint i = 0; i < n; ++i) {
        const uint is_first = parents[i] == i, part = is_first ? parts++ : parents[parents[i]], column = columns[i];
        global uint *const own = facts + FACTS * part;
        const uint cells_here = bottoms[i] - tops[i] + 1;
        if (is_first)
            own[FIRST] = column;
        cells[FACTS / 2 * part] = cells_here + (is_first ? 0 : cells[FACTS / 2 * part]);
        parents[i] = part;
        own[SPAN] = column - own[FIRST] + 2;         // runs are in the order of columns
    }
    for (uint others = 0; others < 2; ++others)
        for (uint part = 0; part < parts; ++part) {
            global uint *const own = facts + FACTS * part;
            if ((own[SPAN] <= least) != others)
                continue;
            own[LINE] = lines;
            const uint x = own[FIRST] % width;
            for (uint k = 0; k < own[SPAN]; ++k, ++lines) {
                lower[lines] = (float2)(x + k, INFINITY);
                upper[lines] = (float2)(x + k, -1);
            }
            wide_lines = others ? wide_lines : lines;
        }
    for (uint i = 0; i < n; ++i) {
        global const uint *const own = facts + FACTS * parents[i];
        const uint line = own[LINE] + columns[i] - own[FIRST];
        const float low = tops[i], high = bottoms[i] + 1;
        for (uint side = line; side < line + 2; ++side) {
            const float2 below = lower[side], above = upper[side];
            lower[side] = (float2)(below.x, low < below.y ? low : below.y);
            upper[side] = (float2)(above.x, high > above.y ? high : above.y);
        }
    }
    for (uint part = 0; part < parts; ++part) {
        global uint *const own = facts + FACTS * part;
        const uint count = own[SPAN] <= most ? own[SPAN] : 0;
        global const float2 *const low = lower + own[LINE], *const high = upper + own[LINE];
        own[RING] = made;
        for (uint k = 0; k < count; ++k)
            ADD_CORNER(low)
        own[LOWERS] = made - own[RING];
        for (uint k = count; k-- > 0;)
            ADD_CORNER(high)
    }
    global uint *const sizes = (global uint *)memory;
    sizes[0] = parts;
    sizes[1] = wide_lines;
    sizes[2] = made;
}
