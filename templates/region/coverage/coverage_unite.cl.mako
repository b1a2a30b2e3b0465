<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// coverage_unite: runs that touch in neighbouring columns get one root: union-find with a forest of run numbers.
//
//   runs   | share 0 | share 1 | ..     sorted by column and row; see coverage/touching.h
//
// Unites the runs of a share with those that they touch in a share before; those within one share are united already, by
// coverage_unite_shares, or a share is one run.
// A parent's number is never larger than its child's, and only roots are hooked, by compare-and-swap: no work-item waits, and
// the root of a part is its first run in any order of work. All items read and write parents at once, so every access is
// atomic (OpenCL 1.2 has no atomic load: "or" with 0 is one).
// Reads each run and the logarithm of its neighbours.
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "portable.h"
#include "coverage/touching.h"
#define WG_SIZE ${wg_size}

// The root above a run; halves the path on the way.
inline uint find_root(volatile global uint *parents, uint run)
{
    uint parent = atomic_or(&parents[run], 0u);
    while (parent != run) {
        const uint above = atomic_or(&parents[parent], 0u);
        if (above != parent)
            atomic_min(&parents[run], above);
        run = parent;
        parent = above;
    }
    return run;
}

// Gives two runs one root: the larger of their roots gets the smaller one as its parent.
inline void unite(volatile global uint *parents, uint a, uint b)
{
    while (1) {
        a = find_root(parents, a);
        b = find_root(parents, b);
        if (a == b)
            return;
        const uint larger = max(a, b), smaller = min(a, b);
        if (atomic_cmpxchg(&parents[larger], larger, smaller) == larger)
            return;
        a = larger;
        b = smaller;
    }
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void coverage_unite(global const int *tops, global const int *bottoms, global const uint *columns,
                    global const uint *starts, const uint n, const uint width, const int reach, const uint share,
                    volatile global uint *parents)
{
#if CLGEOM_SERIAL
    const uint first = min(get_global_id(0) * share, (size_t)n), end = first + min(share, n - first);
    for (uint i = first; i < end; ++i) {
#else
    for (uint i = get_global_id(0); i < n; i += get_global_size(0)) {
        const uint first = i / share * share;
#endif
        const uint column = columns[i];
        if (column % width == 0)
            continue;                    // a map's first column
        const uint before = starts[column - 1], stop = min(starts[column], first);
        if (before >= first)
            ${"break" if variant == "serial" else "continue"};                       // all that it may touch is in its share
        const int bottom = bottoms[i] + reach;
        for (uint j = first_touching(bottoms, before, stop, tops[i] - reach); j < stop && tops[j] <= bottom; ++j)
            unite(parents, i, j);
    }
}
