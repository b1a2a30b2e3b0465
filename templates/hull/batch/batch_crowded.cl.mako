<%page args="real='float', filtered=True, keep_collinear=False, measures=False, variant='group', wg_size=32, items_per_thread=2048"/>\
// batch_crowded: the convex hulls of groups whose pieces dropped few of their points, as on a circle.
//
//   stalled  [ k k k .. ]                           one work-item to a group
//   rows     .. | p p p p p p p p | ..              sizes[k] points from begins[k] on, with numbers ids[..]
//   slots    .. | a a a a a a a a . . | ..          indices in the group, merged by x, y, index from one array to the
//   other    .. | b b b b b b b b . . | ..          other in turn; finally b has them in order, and a gets the chain
//
// A merge sort of indices in global memory, then a monotone chain, both serial: there are many such groups. Groups of more
// than `most` points are skipped. Reads n log n points, mostly from caches.
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP_COLLINEAR ${int(keep_collinear)}
#define MEASURES ${int(measures)}
#include "hood/hood.h"
#define WG_SIZE ${wg_size}

typedef struct { global const real_t *points; global uint *order, *stack; } chain_t;
#define CHAIN_ENTRY(c, k) ((c).order[k])
#define CHAIN_POINT(c, e) CLGEOM_POINT((c).points, e)
#define CHAIN_GET(c, s) ((c).stack[s])
#define CHAIN_SET(c, s, e) ((c).stack[s] = (e))
#define CHAIN_GET_UPPER(c, n, s) ((c).order[(n) - 1 - (s)])
#define CHAIN_SET_UPPER(c, n, s, e) ((c).order[(n) - 1 - (s)] = (e))
#include "batch/batch_chain.h"
#if MEASURES
#include "batch/batch_measures.h"
#endif

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void batch_crowded(global const real_t *rows, global const uint *ids, global const uint *large,
                   global const uint *starts, global const uint *begins, global const uint *sizes,
                   global const uint *stalled, const uint stalled_groups, const uint most, global uint *slots,
                   global uint *other, global uint *counts
#if MEASURES
                   , global uint *status, global double *areas, global double *perimeters
#endif
                   )
{
    const uint job = get_global_id(0);
    if (job >= stalled_groups)
        return;
    const uint k = stalled[job], count = sizes[k], begin = begins[k], target = large[k];
    if (count > most)
        return;
    global const real_t *xy = rows + 2 * (size_t)begin;
    global uint *from = slots + starts[target], *to = other + starts[target];
    for (uint i = 0; i < count; ++i)
        from[i] = i;
    for (uint run = 1; run < count; run *= 2) {
        for (uint first = 0; first < count; first += 2 * run) {
            const uint middle = min(first + run, count), end = min(middle + run, count);
            uint i = first, j = middle;
            point_t p = CLGEOM_POINT(xy, from[i]), q = CLGEOM_POINT(xy, from[min(j, count - 1)]);
            for (uint index = first; index < end; ++index) {
                const int second = i == middle || (j < end && CLGEOM_BEFORE(q.x, q.y, p.x, p.y, 0));
                to[index] = second ? from[j] : from[i];
                if (second) {
                    ++j;
                    q = CLGEOM_POINT(xy, from[min(j, count - 1)]);
                } else {
                    ++i;
                    p = CLGEOM_POINT(xy, from[min(i, count - 1)]);
                }
            }
        }
        global uint *turn = from;
        from = to;
        to = turn;
    }
    global uint *order = other + starts[target], *stack = slots + starts[target];
    uint distinct = 0;
    point_t last = 0;
    for (uint i = 0; i < count; ++i) {             // of equal points the first
        const uint index = from[i];
        const point_t p = CLGEOM_POINT(xy, index);
        if (distinct == 0 || p.x != last.x || p.y != last.y)
            order[distinct++] = index;
        last = p;
    }
    const chain_t chain = {xy, order, stack};
    int flat;
    const uint size = item_chain(chain, distinct, &flat);
#if MEASURES
    const double2 found = item_measures(chain, size, flat, status + 2);
    areas[target] = found.x;
    perimeters[target] = found.y;
#endif
    for (uint s = 0; s < size; ++s)
        stack[s] = ids[begin + stack[s]];
    counts[target] = size;
}
