<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// pairs_jobs: the jobs of pairs_bits in an order: (begin, length) of the pattern and of the text of each pair.
//
//   order | 7 2 9 .. |      one work-item, one job
//   jobs  | pair 7 | pair 2 | pair 9 | ..
//
// The pattern is the sequence whose words of `unit` letters, times the letters of the other one, are fewer. Letters of the
// second batch begin at `columns_at`.
#include "portable.h"
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "group/share.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void pairs_jobs(global const uint *a_bounds, global const uint *b_bounds, const uint columns_at, const uint unit,
                global const uint *order, const uint count, global uint4 *jobs)
{
    EACH_OF(ulong, i, count, get_global_id(0), get_global_size(0)) {
        const uint p = order[i];
        const uint2 from = (uint2)(a_bounds[p], b_bounds[p]);
        const uint2 length = (uint2)(a_bounds[p + 1], b_bounds[p + 1]) - from;
        const ulong words_n = ((ulong)length.x + unit - 1) / unit, words_m = ((ulong)length.y + unit - 1) / unit;
        const uint4 job = (uint4)(from.x, length.x, columns_at + from.y, length.y);
        jobs[i] = words_m * length.x < words_n * length.y ? job.zwxy : job;
    }
}
