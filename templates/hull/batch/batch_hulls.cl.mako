<%page args="real='float', filtered=True, keep=False, measures=False, variant='group', wg_size=64, items_per_thread=128"/>\
<%
lanes = 4 if real == 'double' else 8
mask = 'long' if real == 'double' else 'int'
%>\
// batch_hulls: the convex hull of each of many small groups of points.
//
//   points   | group 0 . . . . . | 1 . . | 2 . . . . . . . | ..     at most ${items_per_thread} points each; larger ones are skipped
//              |                   |       |
//            job 0               job 1   job 2                      group: a job to each work-item;
//              v                   v       v                        serial: a range of jobs to each, bounds[i] to bounds[i+1]
//   slots    | v v v v . . . . . | v v . | v v v v v . . . | ..     numbers of the hull's vertices, counter-clockwise
//   counts     4                   2       5                        of vertices, by target
//
// Jobs are all groups in order (kind 0, `jobs`: where each begins and the last ends), some groups (kind 1, `list`: their
// numbers), or pieces (kind 2, `jobs`: begin, end, place in slots, target, each). `ids` has the numbers of the points if
// `mapped`, which else are their places.
//
// A job: an octagon of extreme points sieves out what is certainly inside, the rest is sorted by x, y, number, and goes
// through a monotone chain. A GPU's item sorts by insertion places in local memory, one byte each, and reads the points
// through the cache again. A CPU's sieves 32 bytes at once and sorts by counting, for each point, those before it, which
// has no branches to mispredict. Reads every point once, or twice from near.
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP ${int(keep)}
#define MEASURES ${int(measures)}
#include "hood/hood.h"
#include "batch/batch_sieve.h"
#define WG_SIZE ${wg_size}
#define CAPACITY ${items_per_thread}

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
#define IS_BEFORE(p, q) ((p).x < (q).x || ((p).x == (q).x && (p).y < (q).y))
#define IS_EQUAL(p, q) ((p).x == (q).x && (p).y == (q).y)

% if variant == 'serial':
typedef struct { const real_t *x, *y; ushort *stack, *upper; } chain_t;
#define CHAIN_ENTRY(c, k) (k)
#define CHAIN_POINT(c, e) ((point_t)((c).x[e], (c).y[e]))
#define CHAIN_GET(c, s) ((c).stack[s])
#define CHAIN_SET(c, s, e) ((c).stack[s] = (e))
#define CHAIN_GET_UPPER(c, n, s) ((c).upper[s])
#define CHAIN_SET_UPPER(c, n, s, e) ((c).upper[s] = (e))
% else:
typedef struct { global const real_t *points; local uchar *order; global uint *slots; } chain_t;
#define CHAIN_ENTRY(c, k) ((uint)(c).order[(k) * WG_SIZE])
#define CHAIN_POINT(c, e) CLGEOM_LOAD2(${real}, (c).points, e)
#define CHAIN_GET(c, s) ((c).slots[s])
#define CHAIN_SET(c, s, e) ((c).slots[s] = (e))
#define CHAIN_GET_UPPER(c, n, s) ((uint)(c).order[((n) - 1 - (s)) * WG_SIZE])
#define CHAIN_SET_UPPER(c, n, s, e) ((c).order[((n) - 1 - (s)) * WG_SIZE] = (e))
% endif
#include "batch/batch_chain.h"
#if MEASURES
#include "batch/batch_measures.h"
#endif

% if variant == 'serial':
#define LANES 8
typedef float8 filter_v;
typedef int8 mask_v;
typedef int mask_t;
#define SORT_LANES ${lanes}
typedef ${real}${lanes} sort_v;
typedef ${mask}${lanes} rank_v;
typedef ${mask} rank_t;
#define RUN 64                      // points that are sorted by counting

#define TAKE(key, at, value, better)                                                               \
    {                                                                                              \
        const filter_v found = (value);                                                            \
        const mask_v is_better = found better key;                                                 \
        key = is_better ? found : key;                                                             \
        at = is_better ? now : at;                                                                 \
    }
// The place of the point with the best key of all lanes.
#define BEST(corner, key, at, better)                                                              \
    {                                                                                              \
        const int8 places8 = at * LANES + (int8)(0, 1, 2, 3, 4, 5, 6, 7);                          \
        const int4 upper4 = key.hi better key.lo;                                                  \
        const float4 key4 = upper4 ? key.hi : key.lo;                                              \
        const int4 places4 = upper4 ? places8.hi : places8.lo;                                     \
        const int2 upper2 = key4.hi better key4.lo;                                                \
        const float2 key2 = upper2 ? key4.hi : key4.lo;                                            \
        const int2 places2 = upper2 ? places4.hi : places4.lo;                                     \
        corner = key2.y better key2.x ? places2.y : places2.x;                                     \
    }

// Places of the points that are not certainly inside, in order; returns how many. x and y are whole vectors.
inline uint item_sieve(const filter_v *x, const filter_v *y, uint count, mask_v *inside, ushort *left)
{
    const filter_t *x1 = (const filter_t *)x, *y1 = (const filter_t *)y;
    const uint vectors = (count + LANES - 1) / LANES;
    uint corner[SIEVE_EDGES];
    {
        filter_v e = x[0], w = x[0], n = y[0], s = y[0];
        mask_v at_e = 0, at_w = 0, at_n = 0, at_s = 0, now = 0;
        for (uint k = 1; k < vectors; ++k) {
            now += 1;
            TAKE(e, at_e, x[k], >)
            TAKE(w, at_w, x[k], <)
            TAKE(n, at_n, y[k], >)
            TAKE(s, at_s, y[k], <)
        }
        BEST(corner[0], e, at_e, >)
        BEST(corner[2], n, at_n, >)
        BEST(corner[4], w, at_w, <)
        BEST(corner[6], s, at_s, <)
    }
    {
        filter_v ne = x[0] + y[0], sw = ne, nw = y[0] - x[0], se = nw;
        mask_v at_ne = 0, at_sw = 0, at_nw = 0, at_se = 0, now = 0;
        for (uint k = 1; k < vectors; ++k) {
            now += 1;
            TAKE(ne, at_ne, x[k] + y[k], >)
            TAKE(sw, at_sw, x[k] + y[k], <)
            TAKE(nw, at_nw, y[k] - x[k], >)
            TAKE(se, at_se, y[k] - x[k], <)
        }
        BEST(corner[1], ne, at_ne, >)
        BEST(corner[3], nw, at_nw, >)
        BEST(corner[5], sw, at_sw, <)
        BEST(corner[7], se, at_se, <)
    }
    filter_t u[SIEVE_EDGES], v[SIEVE_EDGES];
    for (uint k = 0; k < SIEVE_EDGES; ++k) {
        u[k] = x1[corner[k]];
        v[k] = y1[corner[k]];
    }
    sieve_t sieve;
    uint kept = 0;
    if (!sieve_edges(&sieve, u, v)) {
        for (uint k = 0; k < count; ++k)
            left[k] = k;
        return count;
    }
    for (uint k = 0; k < vectors; ++k) {
        mask_v in = -1;
        for (uint e = 0; e < SIEVE_EDGES; ++e)
            in &= sieve.ex[e] * y[k] - sieve.ey[e] * x[k] > sieve.bound[e];
        inside[k] = in;
    }
    const mask_t *inside1 = (const mask_t *)inside;
    for (uint k = 0; k < count; ++k) {
        left[kept] = k;
        kept += 1 + (int)inside1[k];
    }
    return kept;
}

// Sorts up to RUN points: each goes to the place that is the number of those before it.
inline void sort_run(const real_t *x, const real_t *y, const ushort *which, uint count, real_t *x_to, real_t *y_to,
                     ushort *which_to)
{
    sort_v xs[RUN / SORT_LANES], ys[RUN / SORT_LANES];
    rank_v ranks[RUN / SORT_LANES];
    for (uint k = 0; k < count; ++k) {
        ((real_t *)xs)[k] = x[k];
        ((real_t *)ys)[k] = y[k];
    }
    rank_v places;
    for (uint k = 0; k < SORT_LANES; ++k)
        ((rank_t *)&places)[k] = k;
    for (uint k = 0; k * SORT_LANES < count; ++k) {
        const sort_v xk = xs[k], yk = ys[k];
        rank_v rank = 0;
        for (uint j = 0; j < count; ++j) {
            const sort_v xj = x[j], yj = y[j];
            rank -= (xj < xk) | ((xj == xk) & ((yj < yk) | ((yj == yk) & ((rank_t)j < places))));
        }
        ranks[k] = rank;
        places += SORT_LANES;
    }
    for (uint k = 0; k < count; ++k) {
        const uint place = ((const rank_t *)ranks)[k];
        x_to[place] = x[k];
        y_to[place] = y[k];
        which_to[place] = which[k];
    }
}
% else:

#define TAKE(c, better, new_key)                                                                   \
    {                                                                                              \
        const int is_better = better;                                                              \
        u[c] = is_better ? pu : u[c];                                                              \
        v[c] = is_better ? pv : v[c];                                                              \
        key[c] = is_better ? (new_key) : key[c];                                                   \
    }
% endif

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
% if variant == 'serial':
void batch_hulls(global const real_t *points, const uint kind, global const uint *jobs, global const uint *list,
                 global const uint *bounds, const uint mapped, global const uint *ids, global uint *slots,
                 global uint *counts, global uint *status
% else:
void batch_hulls(global const real_t *points, const uint kind, global const uint *jobs, global const uint *list,
                 const uint count_of_jobs, const uint mapped, global const uint *ids, global uint *slots,
                 global uint *counts, global uint *status
% endif
#if MEASURES
                 , const uint measured, global double *areas, global double *perimeters
#endif
                 )
{
% if variant == 'serial':
    filter_v fx[CAPACITY / LANES + 1], fy[CAPACITY / LANES + 1];
    mask_v inside[CAPACITY / LANES + 1];
    real_t xs[2][CAPACITY], ys[2][CAPACITY];
    ushort which[2][CAPACITY], stack[CAPACITY], upper[CAPACITY];
    for (uint job = bounds[get_group_id(0)]; job < bounds[get_group_id(0) + 1]; ++job) {
% else:
    local uchar orders[CAPACITY * WG_SIZE];
    const uint job = get_global_id(0);
    if (job < count_of_jobs) {
% endif
        const uint target = kind == 0 ? job : kind == 1 ? list[job] : jobs[4 * job + 3];
        const uint begin = kind == 2 ? jobs[4 * job] : jobs[target];
        const uint count = (kind == 2 ? jobs[4 * job + 1] : jobs[target + 1]) - begin;
        global uint *out = slots + (kind == 2 ? jobs[4 * job + 2] : begin);
        uint size = 0;
        int flat = 1;
        if (count > 0 && count <= CAPACITY) {
            global const real_t *xy = points + 2 * (size_t)begin;
% if variant == 'serial':
            filter_t *fx1 = (filter_t *)fx, *fy1 = (filter_t *)fy;
            uint left = count, now = 0;
            real_t x0 = xy[0], y0 = xy[1];
#ifdef LOWEST_ORIGIN
            for (uint k = 1; k < count; ++k) {
                x0 = xy[2 * k] < x0 ? xy[2 * k] : x0;
                y0 = xy[2 * k + 1] < y0 ? xy[2 * k + 1] : y0;
            }
#endif
            int bad = 0;
            for (uint k = 0; k < count; ++k) {
                fx1[k] = FROM(xy[2 * k], x0);
                fy1[k] = FROM(xy[2 * k + 1], y0);
                bad |= !IS_FINITE(xy[2 * k]) | !IS_FINITE(xy[2 * k + 1]);
            }
            if (bad)
                status[0] = 1;
            if (count >= SIEVE_FROM) {
                for (uint k = count; k % LANES; ++k) {
                    fx1[k] = fx1[0];
                    fy1[k] = fy1[0];
                }
                left = item_sieve(fx, fy, count, inside, which[1]);
            } else {
                for (uint k = 0; k < count; ++k)
                    which[1][k] = k;
            }
            for (uint k = 0; k < left; ++k) {
                xs[1][k] = xy[2 * which[1][k]];
                ys[1][k] = xy[2 * which[1][k] + 1];
            }
            for (uint k = 0; k < left; k += RUN)
                sort_run(xs[1] + k, ys[1] + k, which[1] + k, min((uint)RUN, left - k), xs[0] + k, ys[0] + k,
                         which[0] + k);
            for (uint run = RUN; run < left; run *= 2, now = 1 - now)     // merge runs two by two
                for (uint first = 0; first < left; first += 2 * run) {
                    uint i = first, j = min(first + run, left);
                    const uint i_end = j, j_end = min(first + 2 * run, left);
                    for (uint k = first; k < j_end; ++k) {
                        const uint last = left - 1, a = i < last ? i : last, b = j < last ? j : last;
                        const point_t p = (point_t)(xs[now][a], ys[now][a]), q = (point_t)(xs[now][b], ys[now][b]);
                        const int second = i == i_end || (j < j_end && IS_BEFORE(q, p));
                        const uint from = second ? j : i;
                        xs[1 - now][k] = xs[now][from];
                        ys[1 - now][k] = ys[now][from];
                        which[1 - now][k] = which[now][from];
                        i += !second;
                        j += second;
                    }
                }
            real_t *x = xs[now], *y = ys[now];
            ushort *number = which[now];
            uint distinct = 1;
            for (uint k = 1; k < left; ++k) {      // of equal points the first
                const int differs = x[k] != x[distinct - 1] || y[k] != y[distinct - 1];
                x[distinct] = x[k];
                y[distinct] = y[k];
                number[distinct] = number[k];
                distinct += differs;
            }
            const chain_t chain = {x, y, stack, upper};
            size = item_chain(chain, distinct, &flat);
            for (uint s = 0; s < size; ++s) {
                const uint place = begin + number[stack[s]];
                out[s] = mapped ? ids[place] : place;
            }
#if MEASURES
            if (target < measured) {
                const double2 found = item_measures(chain, size, flat);
                areas[target] = found.x;
                perimeters[target] = found.y;
            }
#endif
% else:
            local uchar *order = orders + get_local_id(0);
            point_t p = CLGEOM_LOAD2(${real}, xy, 0);
            real_t x0 = p.x, y0 = p.y;
            int sieved = 0, bad = !IS_FINITE(p.x) | !IS_FINITE(p.y);
#ifdef LOWEST_ORIGIN
            for (uint k = 1; k < count; ++k) {
                p = CLGEOM_LOAD2(${real}, xy, k);
                x0 = p.x < x0 ? p.x : x0;
                y0 = p.y < y0 ? p.y : y0;
            }
            p = CLGEOM_LOAD2(${real}, xy, 0);
#endif
            // E, NE, N, NW, W, SW, S, SE so far, and the sum or difference of the diagonal ones
            filter_t u[SIEVE_EDGES], v[SIEVE_EDGES], key[SIEVE_EDGES];
            for (uint c = 0; c < SIEVE_EDGES; ++c) {
                u[c] = FROM(p.x, x0);
                v[c] = FROM(p.y, y0);
                key[c] = c % 4 == 1 ? u[c] + v[c] : v[c] - u[c];
            }
            for (uint k = 1; k < count; ++k) {
                p = CLGEOM_LOAD2(${real}, xy, k);
                bad |= !IS_FINITE(p.x) | !IS_FINITE(p.y);
                const filter_t pu = FROM(p.x, x0), pv = FROM(p.y, y0), sum = pu + pv, difference = pv - pu;
                TAKE(0, pu > u[0], 0)
                TAKE(1, sum > key[1], sum)
                TAKE(2, pv > v[2], 0)
                TAKE(3, difference > key[3], difference)
                TAKE(4, pu < u[4], 0)
                TAKE(5, sum < key[5], sum)
                TAKE(6, pv < v[6], 0)
                TAKE(7, difference < key[7], difference)
            }
            if (bad)
                status[0] = 1;
            sieve_t sieve;
            if (count >= SIEVE_FROM)
                sieved = sieve_edges(&sieve, u, v);
            uint left = 0;
            for (uint k = 0; k < count; ++k) {
                p = CLGEOM_LOAD2(${real}, xy, k);
                int inside = sieved;
                if (sieved) {
                    const filter_t pu = FROM(p.x, x0), pv = FROM(p.y, y0);
                    for (uint edge = 0; edge < SIEVE_EDGES; ++edge)
                        inside &= sieve.ex[edge] * pv - sieve.ey[edge] * pu > sieve.bound[edge];
                }
                if (inside)
                    continue;
                uint low = 0, high = left;         // the place after all that are before p
                while (low < high) {
                    const uint middle = (low + high) / 2;
                    const point_t q = CLGEOM_LOAD2(${real}, xy, order[middle * WG_SIZE]);
                    const int before = IS_BEFORE(q, p);
                    low = before ? middle + 1 : low;
                    high = before ? high : middle;
                }
                if (low < left) {
                    const point_t q = CLGEOM_LOAD2(${real}, xy, order[low * WG_SIZE]);
                    if (IS_EQUAL(p, q))            // of equal points the first
                        continue;
                }
                for (uint place = left; place > low; --place)
                    order[place * WG_SIZE] = order[(place - 1) * WG_SIZE];
                order[low * WG_SIZE] = k;
                ++left;
            }
            const chain_t chain = {xy, order, out};
            size = item_chain(chain, left, &flat);
#if MEASURES
            if (target < measured) {
                const double2 found = item_measures(chain, size, flat);
                areas[target] = found.x;
                perimeters[target] = found.y;
            }
#endif
            for (uint s = 0; s < size; ++s)
                out[s] = mapped ? ids[begin + out[s]] : begin + out[s];
% endif
            counts[target] = size;
        } else if (count == 0) {
            counts[target] = 0;
#if MEASURES
            if (target < measured)
                areas[target] = perimeters[target] = 0;
#endif
        }
    }
}
