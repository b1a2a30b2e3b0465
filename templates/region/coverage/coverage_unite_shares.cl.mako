<%page args="variant='serial', wg_size=1, items_per_thread=1"/>\
// coverage_unite_shares: runs of one share that touch in neighbouring columns get one root: a union-find of each work-item.
//
//   runs   | share of item 0 | share of item 1 | ..     sorted by column and row; see coverage/touching.h
//
// coverage_unite joins runs of different shares. No other work-item reads or writes a share, so nothing is atomic. A
// parent's number is never larger than its child's.
// Reads each run and the logarithm of its neighbours. For devices with few work-items, such as CPUs.
#include "portable.h"
#include "coverage/touching.h"
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
    for (uint i = first; i < end; ++i) {
        const uint column = columns[i];
        if (column % width == 0)
            continue;                    // a map's first column
        const uint before = max(starts[column - 1], first), stop = starts[column];
        const int bottom = bottoms[i] + reach;
        uint root = i;                   // until now nothing is above or below it
        for (uint j = first_touching(bottoms, before, stop, tops[i] - reach); j < stop && tops[j] <= bottom; ++j) {
            const uint other = find_root(parents, j), larger = max(root, other);
            root = min(root, other);
            parents[larger] = root;
        }
    }
}
