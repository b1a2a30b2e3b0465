<%page args="index='uint', variant='group', wg_size=256, items_per_thread=1"/>\
// row_indices: indices into all rows become indices into the row.
//
//   indices | 2 0 1 | 5 3 4 | ..  rows of `length`        to | 2 0 1 | 2 0 1 | ..
//
// Reads and writes n indices, in place.
#include "portable.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void row_indices(global ${index} *indices, const uint n, const uint length)
{
% if variant == "serial":
    const uint share = (n + get_global_size(0) - 1) / get_global_size(0);
    const uint begin = min((uint)get_global_id(0) * share, n), end = min(begin + share, n), stride = 1;
% else:
    const uint begin = get_global_id(0), end = n, stride = get_global_size(0);
% endif
    for (uint i = begin; i < end; i += stride)
        indices[i] -= i / length * length;
}
