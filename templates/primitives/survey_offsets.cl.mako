<%page args="offset='uint', variant='group', wg_size=256, items_per_thread=1"/>\
// survey_offsets: offsets as uint, whether they ascend from 0 to `total`, and the extremes of their differences.
//
//   offsets | 0 | .. | total |      one work-item, one difference of neighbours
//   bounds  the same as uint
//   found   [ faulty, greatest difference, greatest of the differences' complements ]      at first 0
//
// Reads the offsets and writes the bounds once, n + 1 of each; three atomic operations for each group.
#include "portable.h"
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "group/share.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void survey_offsets(global const ${offset} *offsets, const uint n, const uint total, global uint *bounds,
                    global uint *found)
{
    local uint local_found[3];
    const uint lid = get_local_id(0);
    if (lid == 0)
        local_found[0] = local_found[1] = local_found[2] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint faulty = 0, most = 0, most_short = 0;
    EACH_OF(ulong, i, n, get_global_id(0), get_global_size(0)) {
        const ulong from = (ulong)offsets[i], to = (ulong)offsets[i + 1];   // negative ones are beyond the total
        faulty |= from > to || to > total || (i == 0 && from != 0) || (i == n - 1 && to != total);
        const uint length = (uint)(to - from);
        most = max(most, length);
        most_short = max(most_short, ~length);
        bounds[i] = (uint)from;
        if (i == n - 1)
            bounds[n] = (uint)to;
    }
    atomic_or(local_found, faulty);
    atomic_max(local_found + 1, most);
    atomic_max(local_found + 2, most_short);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) {
        atomic_or(found, local_found[0]);
        atomic_max(found + 1, local_found[1]);
        atomic_max(found + 2, local_found[2]);
    }
}
