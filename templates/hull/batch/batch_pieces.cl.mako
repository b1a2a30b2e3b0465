<%page args="variant='group', wg_size=64, items_per_thread=1"/>\
// batch_pieces: the jobs for batch_hulls or batch_tiles of groups that are cut into pieces.
//
//   first    | 0 . . | 3 . . . | 7          piece i is number i - first[k] of group k's parts, all about equally large
//   jobs     as batch/batch_jobs.h has them, for `most` pieces, those beyond the last one empty
//
// Pieces write their vertices inside the group's own slots. The target of a group's only piece is the group; if that solves
// it, the count of the piece stays 0. Otherwise the target is piece i, after all groups. One work-item to a piece.
#include "portable.h"
#include "batch/batch_find.h"
#include "batch/batch_jobs.h"
#define WG_SIZE ${wg_size}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void batch_pieces(global const uint *large, const uint groups, global const uint *starts, global const uint *first,
                  const uint most, global const uint *begins, global const uint *sizes, const uint all_groups,
                  global job_t *jobs, global uint *slots, global uint *counts)
{
    const uint i = get_global_id(0);
    if (i > most)
        return;
    job_t job = {0, 0, 0, all_groups + i};
    if (i < first[groups]) {
        const uint k = row_of(first, 0, groups - 1, i), parts = first[k + 1] - first[k], number = i - first[k];
        const uint low = (uint)((ulong)sizes[k] * number / parts);
        job.begin = begins[k] + low;
        job.end = begins[k] + (uint)((ulong)sizes[k] * (number + 1) / parts);
        job.slot = starts[large[k]] + low;
        if (parts == 1)
            job.target = large[k];
    }
    counts[all_groups + i] = 0;                    // the last one stays 0, for the end of the scan
    if (i == most)
        return;
    slots[i] = job.slot;
    jobs[i] = job;
}
