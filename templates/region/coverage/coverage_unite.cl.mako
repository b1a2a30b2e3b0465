<%page args="within=False, variant='group', wg_size=256, items_per_thread=1"/>\
% if within:
// coverage_unite: runs that touch in neighbouring columns get one root: a union-find within each work-item's share of runs.
% else:
// coverage_unite: runs that touch in neighbouring columns get one root: union-find with a forest of run numbers.
% endif
//
//   column c - 1   column c           runs are sorted by column and row, so those that touch run i in the column before
//   | run 3 |                         are neighbours of each other: found by bisection, then walked
//   |       |      | run i |
//   | run 4 |      |       |          reach 1: corners touch, too (8 neighbours), reach 0: sides only (4)
//
% if within:
//   | share of item 0 | share of item 1 | ..     what touches a run of another share is left to the launch after this one
//
// Nobody else reads or writes a share, so there is nothing atomic. A parent's number is never larger than its child's.
% else:
//   | share 0 | share 1 | ..          of the runs of a share those that touch a run of a share before; those within one
//                                     share are united, if a share is more than a run
//
// A parent's number is never larger than its child's, and only roots are hooked, by compare-and-swap: nothing waits, and
// the root of a part is its first run in any order of work. All items read and write parents at once, so every access is
// atomic (OpenCL 1.2 has no atomic load: "or" with 0 is one).
% endif
// Reads a run and the log of its neighbours.
#include "portable.h"
#define WG_SIZE ${wg_size}
% if within:
#define PARENTS global uint *
#define PARENT(run) parents[run]
#define LOWER(run, to) parents[run] = to
% else:
#define PARENTS volatile global uint *
#define PARENT(run) atomic_or(&parents[run], 0u)
#define LOWER(run, to) atomic_min(&parents[run], to)
% endif

// The root above a run; halves the path on the way.
inline uint find_root(PARENTS parents, uint run)
{
    uint parent = PARENT(run);
    while (parent != run) {
        const uint above = PARENT(parent);
        if (above != parent)
            LOWER(run, above);
        run = parent;
        parent = above;
    }
    return run;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void coverage_unite(global const int *tops, global const int *bottoms, global const uint *columns,
                    global const uint *starts, const uint n, const uint width, const int reach, const uint share,
                    PARENTS parents)
{
% if variant == "serial":
    const uint first = min(get_global_id(0) * share, (size_t)n), end = first + min(share, n - first), stride = 1;
    for (uint i = first; i < end; i += stride) {
% else:
    for (uint i = get_global_id(0); i < n; i += get_global_size(0)) {
        const uint first = i / share * share;
% endif
        const uint column = columns[i];
        if (column % width == 0)
            continue;   // a map's first column
        const uint last = starts[column];
        const int top = tops[i] - reach, bottom = bottoms[i] + reach;
        uint low = starts[column - 1], high = last;
% if within:
        low = max(low, first);
% else:
        if (low >= first)
            ${"break" if variant == "serial" else "continue"};   // all that it may touch is in its share
        high = min(high, first);
% endif
        const uint stop = high;
        while (low < high) {   // the first run that does not end above
            const uint middle = low + (high - low) / 2;
            if (bottoms[middle] < top)
                low = middle + 1;
            else
                high = middle;
        }
% if within:
        uint root = i;   // until now nothing is above or below it
        for (uint j = low; j < stop && tops[j] <= bottom; ++j) {
            const uint other = find_root(parents, j), larger = max(root, other);
            root = min(root, other);
            parents[larger] = root;
        }
% else:
        for (uint j = low; j < stop && tops[j] <= bottom; ++j) {
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
% endif
    }
}
