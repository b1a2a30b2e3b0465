<%page args="emit=False, variant='group', wg_size=256, items_per_thread=1"/>\
// coverage_edges: the ends of the covered runs of every column: their numbers (first launch), then the runs.
//
//   columns   | 0 .. 63 | 64 .. 127 | ..        a work-item takes a strip of the words of a block of columns, on GPUs of a
//   strip 0   | item 0  | item 1    | ..        column: neighbouring items read neighbouring words; see coverage_bits
//   strip 1   | ..
//
//   column    . # # # . # .                     a run begins where the cell above is not covered, and ends above a cell
//   begins      1       5                       that is not; numbers are in the order of mask, column and strip, so the
//   ends            3   5                       places of each list ascend by column and row
//
// Reads every word once for each launch; writes 16 bytes a run.
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "portable.h"
#define EMIT ${int(emit)}
#define WG_SIZE ${wg_size}
#if CLGEOM_SERIAL
#define BLOCK 64                    // columns of a work-item
#else
#define BLOCK 1
#endif

inline uint ones(uint x)
{
    x -= x >> 1 & 0x55555555;
    x = (x & 0x33333333) + (x >> 2 & 0x33333333);
    return (x + (x >> 4) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

// The last of `counts` is 0; in their sums `places` the begins of all columns come before the ends. `starts` becomes the
// first run of each column, then their number, and `parents` the number of each run.
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void coverage_edges(global const uint *restrict bits, const uint masks, const uint first_row, const uint rows,
                    const uint all_rows, const uint columns, const uint strips,
#if EMIT
                    global const uint *restrict places, global int *restrict tops, global int *restrict bottoms,
                    global uint *restrict column_of, global uint *restrict starts, global uint *restrict parents)
#else
                    global uint *restrict counts)
#endif
{
    const uint blocks = (columns + BLOCK - 1) / BLOCK, words = (rows + 31) / 32, height = (words + strips - 1) / strips;
    const ulong all = (ulong)masks * strips * blocks, lists = (ulong)masks * strips * columns;
#if CLGEOM_SERIAL
    const ulong share = (all + get_global_size(0) - 1) / get_global_size(0);
    const ulong begin = min(get_global_id(0) * share, all), end = min(begin + share, all), stride = 1;
#else
    const ulong begin = get_global_id(0), end = all, stride = get_global_size(0);
#endif
    if (get_global_id(0) == 0)
#if EMIT
        starts[(ulong)masks * columns] = places[lists];
#else
        counts[2 * lists] = 0;
#endif
    for (ulong i = begin; i < end; i += stride) {
        const uint first = i % blocks * BLOCK, strip = i / blocks % strips, width = min((uint)BLOCK, columns - first);
        const ulong mask = i / blocks / strips;
        const uint top = min(strip * height, words), bottom = min(top + height, words);
        global const uint *here = bits + (mask * (words + 1) + top) * columns + first;
        uint begins[BLOCK], ends[BLOCK];    // numbers of both, or the next place in each list
        uint covered[BLOCK];                // whether the cell above is
        for (uint j = 0; j < width; ++j) {
            covered[j] = here[j] >> 31;
#if EMIT
            const ulong list = (mask * columns + first + j) * strips + strip;
            begins[j] = places[list];
            ends[j] = places[lists + list] - places[lists];
            if (strip == 0)
                starts[mask * columns + first + j] = begins[j];
#else
            begins[j] = ends[j] = 0;
#endif
        }
        for (uint word = top; word < bottom; ++word) {
            here += columns;
            const uint left = min(rows - 32 * word, 32u), rest = ~0u >> (32 - left);
            for (uint j = 0; j < width; ++j) {
                const uint now = here[j];
                uint changed = (now ^ (now << 1 | covered[j])) & rest;
                covered[j] = now >> (left - 1) & 1;
#if EMIT
                for (; changed; changed &= changed - 1) {
                    const uint bit = 31 - clz(changed & -changed), row = first_row + 32 * word + bit;
                    if (now >> bit & 1) {
                        const uint place = begins[j]++;
                        tops[place] = row;
                        column_of[place] = mask * columns + first + j;
                        parents[place] = place;
                    } else
                        bottoms[ends[j]++] = row - 1;
                }
#else
                begins[j] += ones(changed & now);
                ends[j] += ones(changed & ~now);
#endif
            }
        }
        const int is_last = first_row + rows == all_rows && bottom == words && top < bottom;
        for (uint j = 0; j < width; ++j) {
            const int ends_here = is_last && covered[j];
#if EMIT
            if (ends_here)
                bottoms[ends[j]] = all_rows - 1;
#else
            const ulong list = (mask * columns + first + j) * strips + strip;
            counts[list] = begins[j];
            counts[lists + list] = ends[j] + ends_here;
#endif
        }
    }
}
