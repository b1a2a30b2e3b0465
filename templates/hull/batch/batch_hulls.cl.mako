<%page args="real='float', filtered=True, keep_collinear=False, measures=False, variant='group', wg_size=64, items_per_thread=128"/>\
// batch_hulls: the convex hull of each of many small groups of points.
//
//   points   | group 0 . . . . . | 1 . . | 2 . . . . . . . | ..     at most ${items_per_thread} points each; larger ones are skipped
//              |                   |       |
//            job 0               job 1   job 2                      a job to each work-item
//              v                   v       v
//   slots    | v v v v . . . . . | v v . | v v v v v . . . | ..     numbers of the hull's vertices, counter-clockwise
//   counts     4                   2       5                        of vertices, by target
//
// batch/batch_jobs.h defines jobs. With `mapped`, `ids` has the numbers of the points; otherwise these are their rows.
//
// A job: an octagon of extreme points drops points that are certainly inside; the rest is sorted by x, y, number, by
// insertion of indices in local memory, one byte each; then a monotone chain follows. Reads every point twice, and those
// that the sieve keeps again from a cache.
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

// `order` has the indices of this work-item: every WG_SIZE-th byte.
typedef struct { global const real_t *points; local uchar *order; global uint *slots; } chain_t;
#define CHAIN_ENTRY(c, k) ((uint)(c).order[(k) * WG_SIZE])
#define CHAIN_POINT(c, e) CLGEOM_POINT((c).points, e)
#define CHAIN_GET(c, s) ((c).slots[s])
#define CHAIN_SET(c, s, e) ((c).slots[s] = (e))
#define CHAIN_GET_UPPER(c, n, s) ((uint)(c).order[((n) - 1 - (s)) * WG_SIZE])
#define CHAIN_SET_UPPER(c, n, s, e) ((c).order[((n) - 1 - (s)) * WG_SIZE] = (e))
#include "batch/batch_chain.h"
#if MEASURES
#include "batch/batch_measures.h"
#endif

inline point_t origin_of(global const real_t *xy, uint count)
{
    point_t origin = CLGEOM_POINT(xy, 0);
#ifdef LOWEST_ORIGIN
    for (uint k = 1; k < count; ++k)
        origin = min(origin, CLGEOM_POINT(xy, k));
#endif
    return origin;
}

#define TAKE(c, better, new_key)                                                                   \
    {                                                                                              \
        const int is_better = better;                                                              \
        u[c] = is_better ? pu : u[c];                                                              \
        v[c] = is_better ? pv : v[c];                                                              \
        key[c] = is_better ? (new_key) : key[c];                                                   \
    }

// The sieve of the extreme points to the E, NE, N, NW, W, SW, S, SE; returns whether there is one. Sets `nonfinite` if a
// coordinate is NaN or infinite.
inline int item_octagon(global const real_t *xy, uint count, point_t origin, sieve_t *sieve, int *nonfinite)
{
    point_t p = CLGEOM_POINT(xy, 0);
    filter_t u[SIEVE_EDGES], v[SIEVE_EDGES], key[SIEVE_EDGES];         // key: sums and differences for the diagonal directions
    for (uint c = 0; c < SIEVE_EDGES; ++c) {
        u[c] = FROM(p.x, origin.x);
        v[c] = FROM(p.y, origin.y);
        key[c] = c % 4 == 1 ? u[c] + v[c] : v[c] - u[c];
    }
    int found = !IS_FINITE(p.x) | !IS_FINITE(p.y);
    for (uint k = 1; k < count; ++k) {
        p = CLGEOM_POINT(xy, k);
        found |= !IS_FINITE(p.x) | !IS_FINITE(p.y);
        const filter_t pu = FROM(p.x, origin.x), pv = FROM(p.y, origin.y), sum = pu + pv, difference = pv - pu;
        TAKE(0, pu > u[0], 0)
        TAKE(1, sum > key[1], sum)
        TAKE(2, pv > v[2], 0)
        TAKE(3, difference > key[3], difference)
        TAKE(4, pu < u[4], 0)
        TAKE(5, sum < key[5], sum)
        TAKE(6, pv < v[6], 0)
        TAKE(7, difference < key[7], difference)
    }
    *nonfinite = found;
    return count >= SIEVE_FROM && sieve_edges(sieve, u, v);
}

// Writes the indices of points that are not certainly inside, in the order of x, y, number, of equal points only the first.
// Returns their number.
inline uint item_order(global const real_t *xy, uint count, point_t origin, int sieved, const sieve_t *sieve,
                       local uchar *order)
{
    uint left = 0;
    for (uint k = 0; k < count; ++k) {
        const point_t p = CLGEOM_POINT(xy, k);
        int inside = sieved;
        if (sieved) {
            const filter_t pu = FROM(p.x, origin.x), pv = FROM(p.y, origin.y);
            SIEVE_TEST(inside, *sieve, pu, pv)
        }
        if (inside)
            continue;
        uint low = 0, high = left;                 // the index of p: after all that are before it
        while (low < high) {
            const uint middle = (low + high) / 2;
            const point_t q = CLGEOM_POINT(xy, order[middle * WG_SIZE]);
            const int before = CLGEOM_BEFORE(q.x, q.y, p.x, p.y, 0);
            low = before ? middle + 1 : low;
            high = before ? high : middle;
        }
        if (low < left) {
            const point_t q = CLGEOM_POINT(xy, order[low * WG_SIZE]);
            if (p.x == q.x && p.y == q.y)
                continue;
        }
        for (uint index = left; index > low; --index)
            order[index * WG_SIZE] = order[(index - 1) * WG_SIZE];
        order[low * WG_SIZE] = k;
        ++left;
    }
    return left;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void batch_hulls(global const real_t *points, const uint kind, global const uint *jobs, global const uint *list,
                 const uint count_of_jobs, const uint mapped, global const uint *ids, global uint *slots,
                 global uint *counts, global uint *status
#if MEASURES
                 , const uint measured, global double *areas, global double *perimeters
#endif
                 )
{
    local uchar orders[CAPACITY * WG_SIZE];
    if (get_global_id(0) >= count_of_jobs)
        return;                                    // no barrier follows
    const job_t job = job_of(kind, jobs, list, get_global_id(0));
    const uint count = job.end - job.begin;
    if (count > CAPACITY)
        return;
    global const real_t *xy = points + 2 * (size_t)job.begin;
    global uint *out = slots + job.slot;
    const chain_t chain = {xy, orders + get_local_id(0), out};
    uint size = 0;
    int flat = 1;
    if (count > 0) {
        const point_t origin = origin_of(xy, count);
        sieve_t sieve;
        int nonfinite;
        const int sieved = item_octagon(xy, count, origin, &sieve, &nonfinite);
        if (nonfinite)
            status[0] = 1;
        size = item_chain(chain, item_order(xy, count, origin, sieved, &sieve, chain.order), &flat);
    }
#if MEASURES
    if (job.target < measured) {
        const double2 found = item_measures(chain, size, flat, status + 2);
        areas[job.target] = found.x;
        perimeters[job.target] = found.y;
    }
#endif
    for (uint k = 0; k < size; ++k)
        out[k] = mapped ? ids[job.begin + out[k]] : job.begin + out[k];
    counts[job.target] = size;
}
