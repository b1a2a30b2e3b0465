<%page args="variant='group', wg_size=64, items_per_thread=1"/>\
// hood_list: the corners of one hood from its runs, left to right; a work-group to a run.
//
//   runs      [ (first, last) index in corners | .. ]      offsets   [ the number of each run's first corner | .. ]
//   vertices  [ corners of run 0 | of run 1 | .. ]
//
// Reads and writes each corner once.
#include "portable.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void hood_list(global const uint *corners, global const uint2 *runs, global const uint *offsets, global uint *vertices)
{
    const uint run = get_group_id(0);
    const uint2 range = runs[run];
    for (uint k = range.x + get_local_id(0); k <= range.y; k += ${wg_size})
        vertices[offsets[run] + (k - range.x)] = corners[k];
}
