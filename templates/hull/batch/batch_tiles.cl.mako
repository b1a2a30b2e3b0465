<%page args="real='float', filtered=True, keep=False, measures=False, variant='group', wg_size=64, items_per_thread=128"/>\
// batch_tiles: the convex hull of each of many larger groups of points, or of pieces of them.
//
//   jobs     [ begin, end, place in slots, target | .. ]      of at most ${min(wg_size * items_per_thread, 65536)} points, a work-group to each
//   points   .. | p p p p p p p p p p p p p p | ..
//                   |         |       | |  |         what an octagon of extreme points does not sieve out
//   x, y         [  p         p       p p  p   ]     ${8 * wg_size} of them at most: sorted, two hoods
//   slots    .. | v v v v . . . . . . . . . . | ..   numbers of the hull's vertices, counter-clockwise
//
// Of 8192 points in a square about 120 are left, in one list in local memory; where more are, as on a circle, each full list
// goes its way, and the hulls of all stand one after another. `ids` has the numbers of the points if `mapped`, which else
// are their places.
//
// A target below `groups` is a group that is in one piece. Unless its points filled several lists it is solved: counts and
// measures are the group's. In all other cases the vertices are counted for the job, behind the groups.
//
// Reads every point twice, the second time from near.
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP ${int(keep)}
#define MEASURES ${int(measures)}
#include "hood/hood.h"
#include "batch/batch_sieve.h"
#define WG_SIZE ${wg_size}
#define STEP (4 * WG_SIZE)                   // points between two looks at how full the list is
#define MOST (8 * WG_SIZE)                   // points of the list
<%
    sides_at_once = 2 if wg_size > 1 else 1
%>\
#define HOOD_ITEMS ${wg_size // sides_at_once}
#define STRIP (MOST / HOOD_ITEMS)
#define SORTED(i) sorted[i]
#include "hood/hood_group.h"

typedef struct { local const real_t *x, *y; local const ushort *number; } things_t;
#define BEFORE(t, a, b) \
    ((t).x[a] < (t).x[b] || \
     ((t).x[a] == (t).x[b] && \
      ((t).y[a] < (t).y[b] || ((t).y[a] == (t).y[b] && (t).number[a] < (t).number[b]))))
#include "keys/place_sort.h"

// The hull from both hoods, which share their ends; on a line the way back is the way there.
typedef struct { local const real_t *x, *y; local const ushort *hoods; uint lower, upper; } chain_t;
#define CHAIN_GET(c, s) ((c).hoods[(s) < (c).lower ? (s) : MOST + (c).lower + (c).upper - 2 - (s)])
#define CHAIN_POINT(c, e) ((point_t)((c).x[e], (c).y[e]))
#if MEASURES
#include "batch/batch_measures.h"
#endif

// FROM(v, o): how far a coordinate is from the origin o, to the precision of filter_t.
% if real == 'int':
#define IS_FINITE(v) 1
#if CLGEOM_FP64
#define FROM(v, o) ((filter_t)((double)(v) - (double)(o)))
#else
#define FROM(v, o) ((filter_t)((uint)(v) - (uint)(o)))     // o is the lowest
#define LOWEST_ORIGIN
#endif
% else:
#define IS_FINITE(v) (((v) - (v)) == 0)
#define FROM(v, o) ((filter_t)((v) - (o)))
% endif

#define TAKE(c, value)                                                                             \
    {                                                                                              \
        const filter_t found = (value);                                                            \
        at[c] = found > key[c] ? k : at[c];                                                        \
        key[c] = found > key[c] ? found : key[c];                                                  \
    }

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void batch_tiles(global const real_t *points, const uint groups, global const uint *jobs, const uint mapped,
                 global const uint *ids, global uint *slots, global uint *counts, global uint *status
#if MEASURES
                 , global double *areas, global double *perimeters
#endif
                 )
{
    local real_t x[MOST], y[MOST];
    local ushort number[MOST];
    local uint memory[2 * SIEVE_EDGES * WG_SIZE];      // at first extreme points, then all that sorting and merging needs
    local sieve_t sieve;
    local uint waiting, is_open;
    local int is_sieved;
    const uint job = get_group_id(0), lid = get_local_id(0);
    const uint begin = jobs[4 * job], count = jobs[4 * job + 1] - begin, target = jobs[4 * job + 3];
    if (count == 0)
        return;
    global const real_t *xy = points + 2 * (size_t)begin;
    global uint *out = slots + jobs[4 * job + 2];

    // Extreme points to the E, NE, N, NW, W, SW, S, SE: of each work-item, then of all.
    local filter_t *const keys = (local filter_t *)memory;
    local uint *const places = memory + SIEVE_EDGES * WG_SIZE;
    point_t p = CLGEOM_LOAD2(${real}, xy, 0);
    real_t x0 = p.x, y0 = p.y;
#ifdef LOWEST_ORIGIN
    for (uint k = lid; k < count; k += WG_SIZE) {
        p = CLGEOM_LOAD2(${real}, xy, k);
        x0 = p.x < x0 ? p.x : x0;
        y0 = p.y < y0 ? p.y : y0;
    }
    x[lid] = x0;
    y[lid] = y0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < WG_SIZE; ++k) {
        x0 = x[k] < x0 ? x[k] : x0;
        y0 = y[k] < y0 ? y[k] : y0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    filter_t key[SIEVE_EDGES];
    uint at[SIEVE_EDGES];
    for (uint c = 0; c < SIEVE_EDGES; ++c) {
        key[c] = -INFINITY;
        at[c] = 0;
    }
    int bad = 0;
    for (uint from = 0; from < count; from += STEP) {
        point_t taken[STEP / WG_SIZE];                 // all loads on their way before the first is waited for
        for (uint step = 0; step < STEP / WG_SIZE; ++step)
            taken[step] = CLGEOM_LOAD2(${real}, xy, min(from + step * WG_SIZE + lid, count - 1));
        for (uint step = 0; step < STEP / WG_SIZE; ++step) {
            const point_t q = taken[step];
            const uint k = min(from + step * WG_SIZE + lid, count - 1);
            bad |= !IS_FINITE(q.x) | !IS_FINITE(q.y);
            const filter_t u = FROM(q.x, x0), v = FROM(q.y, y0);
            TAKE(0, u)
            TAKE(1, u + v)
            TAKE(2, v)
            TAKE(3, v - u)
            TAKE(4, -u)
            TAKE(5, -u - v)
            TAKE(6, -v)
            TAKE(7, u - v)
        }
    }
    if (bad)
        status[0] = 1;
    for (uint c = 0; c < SIEVE_EDGES; ++c) {
        keys[c * WG_SIZE + lid] = key[c];
        places[c * WG_SIZE + lid] = at[c];
    }
    for (uint reach = WG_SIZE / 2; reach > 0; reach /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = lid; k < SIEVE_EDGES * reach; k += WG_SIZE) {
            const uint mine = k / reach * WG_SIZE + k % reach;
            if (keys[mine + reach] > keys[mine]) {
                keys[mine] = keys[mine + reach];
                places[mine] = places[mine + reach];
            }
        }
    }
    if (lid == 0)
        waiting = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) {
        filter_t us[SIEVE_EDGES], vs[SIEVE_EDGES];
        for (uint c = 0; c < SIEVE_EDGES; ++c) {
            p = CLGEOM_LOAD2(${real}, xy, places[c * WG_SIZE]);
            us[c] = FROM(p.x, x0);
            vs[c] = FROM(p.y, y0);
        }
        sieve_t found;
        is_sieved = sieve_edges(&found, us, vs);
        sieve = found;
    }
    barrier(CLK_LOCAL_MEM_FENCE);                      // from here on the memory holds other things
    local ushort *const hoods = (local ushort *)memory, *const order = hoods + 2 * MOST;
    local ushort *const merging = order + MOST;

    uint emitted = 0, lists = 0;
    for (uint from = 0; from < count; ++lists) {
        uint held;
        do {                                           // fill the list
            const uint upto = min(from + STEP, count);
            point_t taken[STEP / WG_SIZE];
            for (uint step = 0; step < STEP / WG_SIZE; ++step)
                taken[step] = CLGEOM_LOAD2(${real}, xy, min(from + step * WG_SIZE + lid, upto - 1));
            for (uint step = 0; step < STEP / WG_SIZE; ++step) {
                const point_t q = taken[step];
                const uint k = from + step * WG_SIZE + lid;
                const filter_t u = FROM(q.x, x0), v = FROM(q.y, y0);
                int inside = is_sieved;
                for (uint edge = 0; edge < SIEVE_EDGES; ++edge)
                    inside &= sieve.ex[edge] * v - sieve.ey[edge] * u > sieve.bound[edge];
                if (k < upto && !inside) {
                    const uint place = atomic_inc(&waiting);
                    x[place] = q.x;
                    y[place] = q.y;
                    number[place] = k;
                }
            }
            from = upto;
            barrier(CLK_LOCAL_MEM_FENCE);
            held = waiting;
            barrier(CLK_LOCAL_MEM_FENCE);
        } while ((from < count) & (held + min((uint)STEP, count - from) <= MOST));

        for (uint k = lid; k < held; k += WG_SIZE)
            order[k] = k;
        barrier(CLK_LOCAL_MEM_FENCE);
        const things_t things = {x, y, number};
        group_place_sort(things, order, held, lid);
% if sides_at_once == 2:
        const uint side = lid / HOOD_ITEMS;
        const merge_t merge = {merging + side * HOOD_ITEMS, merging + (2 + side) * HOOD_ITEMS, merging + (4 + side) * HOOD_ITEMS,
                               merging + (6 + side) * HOOD_ITEMS, merging + (8 + side) * HOOD_ITEMS};
        group_hood(x, y, order, held, hoods + side * MOST, merge, lid % HOOD_ITEMS, side);
        const uint lower = merging[0], upper = merging[HOOD_ITEMS];
% else:
        const merge_t merge = {merging, merging + 1, merging + 2, merging + 3, merging + 4};
        const uint lower = group_hood(x, y, order, held, hoods, merge, 0, 0);
        const uint upper = group_hood(x, y, order, held, hoods + MOST, merge, 0, 1);
% endif
        if (lid == 0) {
            is_open = lower != upper;
            waiting = 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = lid; k < min(lower, upper); k += WG_SIZE)
            if (hoods[k] != hoods[MOST + k])
                is_open = 1;
        barrier(CLK_LOCAL_MEM_FENCE);
        const chain_t chain = {x, y, hoods, lower, upper};
        const uint found = is_open ? min(lower + upper - 2, held) : lower;      // NaN may be in both hoods
        for (uint s = lid; s < found; s += WG_SIZE) {
            const uint place = begin + number[CHAIN_GET(chain, s)];
            out[emitted + s] = mapped ? ids[place] : place;
        }
#if MEASURES
        if (lid == 0 && target < groups) {             // of the only list, or else of no use
            const double2 measured = item_measures(chain, found, !is_open);
            areas[target] = measured.x;
            perimeters[target] = measured.y;
        }
#endif
        emitted += found;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        counts[target < groups && lists == 1 ? target : groups + job] = emitted;
}
