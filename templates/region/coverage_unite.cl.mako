<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// coverage_unite: runs that touch in neighbouring columns get one root: union-find with a forest of run numbers.
//
//   column c - 1   column c           runs are sorted by column and row, so those that touch run i in the column before
//   | run 3 |                         are neighbours of each other: found by bisection, then walked
//   |       |      | run i |
//   | run 4 |      |       |          reach 1: corners touch, too (8 neighbours), reach 0: sides only (4)
//
// A parent's number is never larger than its child's, and only roots are hooked, by compare-and-swap: nothing waits, and
// the root of a part is its first run in any order of work. Reads a run and the log of its neighbours.
#include "portable.h"
#define WG_SIZE ${wg_size}

// The root above a run; halves the path on the way.
inline uint find_root(volatile global uint *parents, uint run)
{
    uint parent = parents[run];
    while (parent != run) {
        const uint above = parents[parent];
        if (above != parent)
            atomic_min(&parents[run], above);
        run = parent;
        parent = above;
    }
    return run;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void coverage_unite(global const int *tops, global const int *bottoms, global const uint *columns,
                    global const uint *starts, const uint n, const uint width, const int reach,
                    volatile global uint *parents)
{
% if variant == "serial":
    const uint share = (n + get_global_size(0) - 1) / get_global_size(0);
    const uint begin = min(get_global_id(0) * share, (size_t)n), end = begin + min(share, n - begin), stride = 1;
% else:
    const uint begin = get_global_id(0), end = n, stride = get_global_size(0);
% endif
    for (uint i = begin; i < end; i += stride) {
        const uint column = columns[i];
        if (column % width == 0)
            continue;   // a map's first column
        const uint last = starts[column];
        const int top = tops[i] - reach, bottom = bottoms[i] + reach;
        uint low = starts[column - 1], high = last;
        while (low < high) {   // the first run that does not end above
            const uint middle = low + (high - low) / 2;
            if (bottoms[middle] < top)
                low = middle + 1;
            else
                high = middle;
        }
        for (uint j = low; j < last && tops[j] <= bottom; ++j) {
            uint a = i, b = j;
            while (1) {
                a = find_root(parents, a);
                b = find_root(parents, b);
                if (a == b)
                    break;
                const uint larger = max(a, b), smaller = min(a, b);
                if (atomic_cmpxchg(&parents[larger], larger, smaller) == larger)
                    break;
                a = larger;
                b = smaller;
            }
        }
    }
}
