<%page args="variant='serial', wg_size=1, items_per_thread=1"/>\
// coverage_unite_shares: runs of one share that touch in neighbouring columns get one root: a union-find of each work-item.
//
//   runs   | share of item 0 | share of item 1 | ..     sorted by column and row, as those that touch a run are
//
// coverage_unite joins runs of different shares. No other work-item reads or writes a share, so nothing is atomic. A
// parent's number is never larger than its child's.
// Reads each run twice. For devices with few work-items, such as CPUs.
#include "portable.h"
#define WG_SIZE ${wg_size}

// The root above a run; halves the path on the way.
inline uint find_root(global uint *parents, uint run)
{
    uint parent = parents[run];
    while (parent != run) {
        const uint above = parents[parent];
        if (above != parent)
            parents[run] = above;
        run = parent;
        parent = above;
    }
    return run;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void coverage_unite_shares(global const int *tops, global const int *bottoms, global const uint *columns,
                           global const uint *starts, const uint n, const uint width, const int reach,
                           const uint share, global uint *parents)
{
    const uint first = min(get_global_id(0) * share, (size_t)n), end = first + min(share, n - first);
    uint column = ~0u, stop = 0, near = 0;   // the first run in the column before that does not end above this one
    for (uint i = first; i < end; ++i) {
        if (columns[i] != column) {
            column = columns[i];
            stop = column % width == 0 ? 0 : starts[column];     // nothing is before a map's first column
            near = max(column % width == 0 ? 0 : starts[column - 1], first);
        }
        const int top = tops[i] - reach, bottom = bottoms[i] + reach;
        while (near < stop && bottoms[near] < top)
            ++near;
        uint root = i;                   // until now nothing is above or below it
        for (uint j = near; j < stop && tops[j] <= bottom; ++j) {
            const uint other = find_root(parents, j), larger = max(root, other);
            root = min(root, other);
            parents[larger] = root;
        }
    }
}
