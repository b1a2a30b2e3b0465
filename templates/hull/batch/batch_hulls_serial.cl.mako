<%page args="real='float', filtered=True, keep_collinear=False, measures=False, variant='serial', wg_size=1, items_per_thread=1024"/>\
// batch_hulls: the convex hull of each of many small groups of points, on CPUs.
//
//   points   | group 0 . . . . . | 1 . . | 2 . . . . . . . | ..     at most ${items_per_thread} points each; larger ones are skipped
//              |                   |       |
//            job 0               job 1   job 2                      jobs bounds[i] to bounds[i + 1] to work-item i
//              v                   v       v
//   slots    | v v v v . . . . . | v v . | v v v v v . . . | ..     numbers of the hull's vertices, counter-clockwise
//   counts     4                   2       5                        of vertices, by target
//
// batch/batch_jobs.h defines jobs. With `mapped`, `ids` has the numbers of the points; otherwise these are their rows.
//
// A job: an octagon of extreme points drops points that are certainly inside, 32 bytes at a time; the rest is sorted by x,
// y, number; then a monotone chain follows. Reads every point once, or twice from a cache.
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP_COLLINEAR ${int(keep_collinear)}
#define MEASURES ${int(measures)}
#include "hood/hood.h"
#define WG_SIZE ${wg_size}
#define CAPACITY ${items_per_thread}
#include "batch/batch_jobs.h"
#include "batch/batch_sieve.h"
#include "batch/batch_sieve_wide.h"
#include "batch/batch_sort.h"

typedef struct { const real_t *x, *y; ushort *stack, *upper; } chain_t;
#define CHAIN_ENTRY(c, k) (k)
#define CHAIN_POINT(c, e) ((point_t)((c).x[e], (c).y[e]))
#define CHAIN_GET(c, s) ((c).stack[s])
#define CHAIN_SET(c, s, e) ((c).stack[s] = (e))
#define CHAIN_GET_UPPER(c, n, s) ((c).upper[s])
#define CHAIN_SET_UPPER(c, n, s, e) ((c).upper[s] = (e))
#include "batch/batch_chain.h"
#if MEASURES
#include "batch/batch_measures.h"
#endif

// Coordinates as offsets, for the sieve, padded to whole vectors; returns whether one is NaN or infinite.
inline int load_offsets(global const real_t *xy, uint count, filter_t *x, filter_t *y)
{
    point_t origin = (point_t)(xy[0], xy[1]);
#ifdef LOWEST_ORIGIN
    for (uint k = 1; k < count; ++k) {
        origin.x = xy[2 * k] < origin.x ? xy[2 * k] : origin.x;
        origin.y = xy[2 * k + 1] < origin.y ? xy[2 * k + 1] : origin.y;
    }
#endif
    int nonfinite = 0;
    for (uint k = 0; k < count; ++k) {
        x[k] = FROM(xy[2 * k], origin.x);
        y[k] = FROM(xy[2 * k + 1], origin.y);
        nonfinite |= !IS_FINITE(xy[2 * k]) | !IS_FINITE(xy[2 * k + 1]);
    }
    for (uint k = count; k % LANES; ++k) {
        x[k] = x[0];
        y[k] = y[0];
    }
    return nonfinite;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void batch_hulls(global const real_t *points, const uint kind, global const uint *jobs, global const uint *list,
                 global const uint *bounds, const uint mapped, global const uint *ids, global uint *slots,
                 global uint *counts, global uint *status
#if MEASURES
                 , const uint measured, global double *areas, global double *perimeters
#endif
                 )
{
    filter_v x[CAPACITY / LANES + 1], y[CAPACITY / LANES + 1];
    mask_v inside[CAPACITY / LANES + 1];
    row_t rows[2];
    ushort stack[CAPACITY], upper[CAPACITY];
    for (uint number = bounds[get_group_id(0)]; number < bounds[get_group_id(0) + 1]; ++number) {
        const job_t job = job_of(kind, jobs, list, number);
        const uint count = job.end - job.begin;
        global const real_t *xy = points + 2 * (size_t)job.begin;
        if (count > CAPACITY)
            continue;
        uint left = count, size = 0;
        int flat = 1;
        if (count > 0 && load_offsets(xy, count, (filter_t *)x, (filter_t *)y))
            status[0] = 1;
        if (count >= SIEVE_FROM)
            left = item_sieve(x, y, count, inside, rows[0].number);
        else
            for (uint k = 0; k < count; ++k)
                rows[0].number[k] = k;
        for (uint k = 0; k < left; ++k) {
            rows[0].x[k] = xy[2 * rows[0].number[k]];
            rows[0].y[k] = xy[2 * rows[0].number[k] + 1];
        }
        const row_t *sorted = item_sort(rows, &left);
        const chain_t chain = {sorted->x, sorted->y, stack, upper};
        if (left > 0)
            size = item_chain(chain, left, &flat);
        for (uint k = 0; k < size; ++k) {
            const uint row = job.begin + sorted->number[stack[k]];
            slots[job.slot + k] = mapped ? ids[row] : row;
        }
        counts[job.target] = size;
#if MEASURES
        if (job.target < measured) {
            const double2 found = item_measures(chain, size, flat, status + 2);
            areas[job.target] = found.x;
            perimeters[job.target] = found.y;
        }
#endif
    }
}
