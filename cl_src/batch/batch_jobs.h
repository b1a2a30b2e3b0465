// batch/batch_jobs.h: the jobs of batch_hulls and batch_tiles: the points, and the destination of their hull.
//
//   begin, end    rows of points
//   slot          destination of the first vertex
//   target        the entry of counts: a group, or after all groups a piece
typedef struct { uint begin, end, slot, target; } job_t;

// Kinds of jobs: all groups in order (`jobs`: the begin of each, and the end of the last), some groups (`list`: their
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
