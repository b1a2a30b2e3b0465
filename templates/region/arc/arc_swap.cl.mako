<%page args="real='float', variant='group', wg_size=64, items_per_thread=1"/>\
// arc_swap: points with x and y exchanged, so that a region along y is one along x.
//
//   points  | x0 y0 | x1 y1 | ..        out  | y0 x0 | y1 x1 | ..
//
// Reads and writes every point once.
#include "portable.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void arc_swap(global const ${real} *points, const uint n, global ${real} *out)
{
    for (uint i = get_global_id(0); i < n; i += get_global_size(0))
        vstore2(CLGEOM_LOAD2(${real}, points, i).yx, i, out);
}
