<%page args="variant='group', wg_size=64, items_per_thread=1"/>\
// hood_emit: the vertices of the hull from the runs of both hoods, counter-clockwise; a work-group per run.
//
//   table     [ lower, left to right .. | upper, left to right .. ]     as (first, last) places in corners,
//             then the number of each run's first corner in its hood
//   vertices  [ lower without its last | upper, right to left, without its first ]
//
// Reads and writes each vertex once.
#include "portable.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void hood_emit(global const uint *corners, const uint n, global const uint2 *table, const uint runs,
               const uint lower_runs, const uint turn_at, const uint total, global const uint *ids, global uint *vertices)
{
    const uint run = get_group_id(0);
    const int upper = run >= lower_runs;
    const uint2 range = table[run];
    const uint offset = ((global const uint *)(table + runs))[run];
    corners += upper ? (ulong)n : 0;
    for (uint k = range.x + get_local_id(0); k <= range.y; k += ${wg_size}) {
        const uint corner = offset + (k - range.x), at = upper ? total - corner : corner;
        if (at < (upper ? total : turn_at))       // the hoods share their ends
            vertices[at] = ids[corners[k]];
    }
}
