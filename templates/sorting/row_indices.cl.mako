<%page args="index='uint', variant='group', wg_size=256, items_per_thread=1"/>\
// row_indices: indices into all rows become indices into the row.
//
//   indices | 2 0 1 | 5 3 4 | ..  rows of `length`        to | 2 0 1 | 2 0 1 | ..
//
// Reads and writes n indices, in place.
#include "portable.h"
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "group/share.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void row_indices(global ${index} *indices, const uint n, const uint length)
{
    EACH_OF(uint, i, n, get_global_id(0), get_global_size(0))
        indices[i] -= i / length * length;
}
