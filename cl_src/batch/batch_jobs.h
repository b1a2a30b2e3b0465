// batch/batch_jobs.h: the jobs of batch_hulls and batch_tiles: which points, and where their hull goes.
//
//   begin, end    rows of points
//   slot          where the first vertex goes
//   target        the entry of counts: a group, or behind all groups a piece of one
typedef struct { uint begin, end, slot, target; } job_t;

// What jobs are: all groups in order (`jobs`: where each begins, and where the last ends), some groups (`list`: their
// numbers), or pieces of groups (`jobs`: a job_t each).
enum { ALL_GROUPS, SOME_GROUPS, PIECES };

inline job_t job_of(uint kind, global const uint *jobs, global const uint *list, uint number)
{
    if (kind == PIECES)
        return ((global const job_t *)jobs)[number];
    const uint group = kind == SOME_GROUPS ? list[number] : number;
    const job_t job = {jobs[group], jobs[group + 1], jobs[group], group};
    return job;
}
