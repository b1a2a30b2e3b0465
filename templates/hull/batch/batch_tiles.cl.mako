<%page args="real='float', filtered=True, keep_collinear=False, measures=False, variant='group', wg_size=64, items_per_thread=128"/>\
// batch_tiles: the convex hull of each of many larger groups of points, or of pieces of them.
//
//   jobs     [ begin, end, slot, target | .. ]      of at most ${min(wg_size * items_per_thread, 65536)} points, a work-group to each
//   points   .. | p p p p p p p p p p p p p p | ..
//                   |         |       | |  |         points that an octagon of extreme points does not drop
//   x, y         [  p         p       p p  p   ]     a list of at most ${8 * wg_size} points: sorted, two hoods
//   slots    .. | v v v v . . . . . . . . . . | ..   numbers of the hull's vertices, counter-clockwise
//
// Of 8192 points in a square about 120 remain, in one list in local memory. Where more remain, as on a circle, each list
// is solved as soon as it is full, and the hulls of all lists are stored one after another. With `mapped`, `ids` has the
// numbers of the points; otherwise these are their rows.
//
// A target below `groups` is a group that is in one piece. Unless its points filled several lists it is solved: counts and
// measures are the group's. In all other cases the vertices are counted for the job, behind the groups.
//
// Reads every point twice, the second time from a cache.
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP_COLLINEAR ${int(keep_collinear)}
#define MEASURES ${int(measures)}
#include "hood/hood.h"
#include "batch/batch_sieve.h"
#include "batch/batch_jobs.h"
#define WG_SIZE ${wg_size}
#include "group/reduce.h"
#define STEP (4 * WG_SIZE)                   // points between two checks of the list's length
#define MOST (8 * WG_SIZE)                   // points of the list
<%
    sides_at_once = 2 if wg_size > 1 else 1
%>\
#define HOOD_ITEMS ${wg_size // sides_at_once}
#define STRIP (MOST / HOOD_ITEMS)
#define SORTED(i) sorted[i]
#include "hood/hood_group.h"
#include "batch/batch_octagon.h"

typedef struct { local const real_t *x, *y; local const ushort *number; } things_t;
#define BEFORE(t, a, b) CLGEOM_BEFORE((t).x[a], (t).y[a], (t).x[b], (t).y[b], (t).number[a] < (t).number[b])
#include "keys/index_sort.h"

// The hull from both hoods, which have the same ends; for points on a line both hoods are equal.
typedef struct { local const real_t *x, *y; local const ushort *hoods; uint lower, upper; } chain_t;
#define CHAIN_GET(c, s) ((c).hoods[(s) < (c).lower ? (s) : MOST + (c).lower + (c).upper - 2 - (s)])
#define CHAIN_POINT(c, e) ((point_t)((c).x[e], (c).y[e]))
#if MEASURES
#include "batch/batch_measures.h"
#endif

// Both hoods of a list, `hoods` and MOST entries on, and how many corners they have. `merging` has room for 10 numbers to a
// work-item of HOOD_ITEMS.
inline uint2 group_hoods(const list_t list, local const ushort *order, uint held, local ushort *hoods, local ushort *merging,
                         uint lid)
{
% if sides_at_once == 2:
    const uint side = lid / HOOD_ITEMS;
    local ushort *const mine = merging + side * HOOD_ITEMS;
    const merge_t merge = {mine, mine + 2 * HOOD_ITEMS, mine + 4 * HOOD_ITEMS, mine + 6 * HOOD_ITEMS, mine + 8 * HOOD_ITEMS};
    group_hood(list.x, list.y, order, held, hoods + side * MOST, merge, lid % HOOD_ITEMS, side);
    return (uint2)(merging[0], merging[HOOD_ITEMS]);
% else:
    const merge_t merge = {merging, merging + 1, merging + 2, merging + 3, merging + 4};
    const uint lower = group_hood(list.x, list.y, order, held, hoods, merge, 0, 0);
    return (uint2)(lower, group_hood(list.x, list.y, order, held, hoods + MOST, merge, 0, 1));
% endif
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void batch_tiles(global const real_t *points, const uint groups, global const job_t *jobs, const uint mapped,
                 global const uint *ids, global uint *slots, global uint *counts, global uint *status
#if MEASURES
                 , global double *areas, global double *perimeters
#endif
                 )
{
    local real_t x[MOST], y[MOST];
    local ushort number[MOST];
    local uint memory[2 * SIEVE_EDGES * WG_SIZE];      // first for extreme points, then for sorting and merging
    local sieve_t sieve;
    local uint waiting, is_open;
    local int is_sieved;
    const uint lid = get_local_id(0);
    const job_t job = jobs[get_group_id(0)];
    const uint count = job.end - job.begin;
    if (count == 0)
        return;
    global const real_t *xy = points + 2 * (size_t)job.begin;

    point_t origin = CLGEOM_POINT(xy, 0);
#ifdef LOWEST_ORIGIN
    for (uint k = lid; k < count; k += WG_SIZE)
        origin = min(origin, CLGEOM_POINT(xy, k));
    x[lid] = origin.x;
    y[lid] = origin.y;
    GROUP_REDUCE(lid, other, x[lid] = min(x[lid], x[other]); y[lid] = min(y[lid], y[other]));
    origin = (point_t)(x[0], y[0]);
#endif
    local filter_t *const keys = (local filter_t *)memory;
    local uint *const indices = memory + SIEVE_EDGES * WG_SIZE;
    filter_t key[SIEVE_EDGES];
    uint at[SIEVE_EDGES];
    if (item_extremes(xy, count, origin, lid, key, at))
        status[0] = 1;
    for (uint c = 0; c < SIEVE_EDGES; ++c) {
        keys[c * WG_SIZE + lid] = key[c];
        indices[c * WG_SIZE + lid] = at[c];
    }
    GROUP_REDUCE(lid, other, take_farther(keys, indices, lid, other));
    if (lid == 0) {
        is_sieved = item_octagon(xy, origin, indices, &sieve);
        waiting = 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);                      // from here on the memory is reused
    local ushort *const hoods = (local ushort *)memory, *const order = hoods + 2 * MOST;
    local ushort *const merging = order + MOST;
    const list_t list = {x, y, number, &waiting};
    const things_t things = {x, y, number};

    uint emitted = 0, lists = 0, from = 0;
    do {
        uint held;
        do {                                           // until the list may be full; ends as in hood/hood_group.h
            append_step(list, xy, from, count, origin, is_sieved, &sieve, lid);
            from = min(from + STEP, count);
            barrier(CLK_LOCAL_MEM_FENCE);
            held = waiting;
            barrier(CLK_LOCAL_MEM_FENCE);
        } while ((from < count) & (held + min((uint)STEP, count - from) <= MOST));

        for (uint k = lid; k < held; k += WG_SIZE)
            order[k] = k;
        group_index_sort(things, order, held, lid);
        const uint2 sizes = group_hoods(list, order, held, hoods, merging, lid);
        if (lid == 0) {
            is_open = sizes.x != sizes.y;
            waiting = 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = lid; k < min(sizes.x, sizes.y); k += WG_SIZE)
            if (hoods[k] != hoods[MOST + k])
                is_open = 1;
        barrier(CLK_LOCAL_MEM_FENCE);
        const chain_t chain = {x, y, hoods, sizes.x, sizes.y};
        const uint found = is_open ? min(sizes.x + sizes.y - 2, held) : sizes.x;      // NaN may be in both hoods
        for (uint s = lid; s < found; s += WG_SIZE) {
            const uint row = job.begin + number[CHAIN_GET(chain, s)];
            slots[job.slot + emitted + s] = mapped ? ids[row] : row;
        }
#if MEASURES
        if (lid == 0 && job.target < groups) {         // used only if this is the only list
            const double2 measured = item_measures(chain, found, !is_open, status + 2);
            areas[job.target] = measured.x;
            perimeters[job.target] = measured.y;
        }
#endif
        emitted += found;
        ++lists;
        barrier(CLK_LOCAL_MEM_FENCE);
    } while (from < count);
    if (lid == 0)
        counts[job.target < groups && lists == 1 ? job.target : groups + get_group_id(0)] = emitted;
}
