<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// coverage_roots: the root of every run, once all are united.
//
//   parents  | 0 0 1 3 3 .. |        a forest, parents before children
//   roots    | 0 0 0 3 3 .. |        the same trees, one step high
//
// Reads a path and writes a number for each run.
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "portable.h"
#define WG_SIZE ${wg_size}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void coverage_roots(global const uint *parents, const uint n, global uint *roots)
{
#if CLGEOM_SERIAL
    const uint share = (n + get_global_size(0) - 1) / get_global_size(0);
    const uint begin = min(get_global_id(0) * share, (size_t)n), end = begin + min(share, n - begin), stride = 1;
#else
    const uint begin = get_global_id(0), end = n, stride = get_global_size(0);
#endif
    for (uint i = begin; i < end; i += stride) {
        uint root = i;
        while (parents[root] != root)
            root = parents[root];
        roots[i] = root;
    }
}
