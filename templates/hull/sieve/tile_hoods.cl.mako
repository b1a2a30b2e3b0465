<%page args="real='float', filtered=True, keep=False, picked=True, variant='group', wg_size=512, items_per_thread=4, run=32, most=4, header=4, wild=7"/>\
// tile_hoods: the lower and the upper hood of ${f"two lists of at most {most * wg_size * items_per_thread}" if picked else f"at most {wg_size * items_per_thread}"} points, whatever their order.
//
//   points   ${"two lists of rows, lower and upper" if picked else "all, for both hoods"}
//            work-group 0 makes the lower hood, work-group 1 the upper one, in local memory:
//            places sorted by x, y, id: runs of ${run} by counting, then merged two by two; points beyond a chord of others
//            go; hoods of strips, merged two by two${"; then the corners and more of the list, until it ends" if picked else ""}
//   hull     records (x, y, id): counts in the first ${header}, then corners from left to right, lower and upper by turns
//
// Counts are 0 when there are too many points or corners, or when a point is NaN or infinite, which the third number
// tells: NaN is in no order. Reads each point once${", and corners again with what follows of the list" if picked else ""}. Cost: O(n log^2 n) comparisons in local memory.
<%
    tile = wg_size * items_per_thread
    hood_items = min(wg_size, 1 << (max(tile // 4, 1).bit_length() - 1))     # a power of two; strips of 4 points or more
%>\
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP ${int(keep)}
#include "hood/hood.h"
#define WG_SIZE ${wg_size}
#define ITEMS ${items_per_thread}
#define TILE (WG_SIZE * ITEMS)
#define RUN ${run}
#define ROOM ${max(2 * wg_size, tile)}             // for what the places' memory is lent to, too
#define FEW 32
#define STRIP ${tile // hood_items}
#define HOOD_ITEMS ${hood_items}
#define WILD ${wild}
#define HEADER ${header}
typedef struct { real_t x, y; uint id; } vertex_t;

#define RECORD(k) hull[HEADER + 2 * (k) + side]
% if picked:
#define ID(k) ((k) < kept ? RECORD(k).id : ids[first + (k) - kept])
% else:
#define ID(k) (k)
% endif

// Before one another in the order of x, y and id: places.
#define BEFORE(a, b) (x[a] < x[b] || (x[a] == x[b] && (y[a] < y[b] || (y[a] == y[b] && ID(a) < ID(b)))))
#define POINT(i) ((point_t)(x[sorted[i]], y[sorted[i]]))
#define SORTED(i) sorted[i]
#include "hood/hood_group.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
% if picked:
void tile_hoods(global const real_t *points, global const uint *lower, global const uint *upper, const uint in,
                global const uint *sizes, global vertex_t *hull)
% else:
void tile_hoods(global const real_t *points, const uint n, global vertex_t *hull)
% endif
{
    local real_t x[TILE], y[TILE];
    local ushort places[ROOM], others[ROOM];
    local ushort merge_sizes[WG_SIZE], tangent_p[WG_SIZE], tangent_q[WG_SIZE];
    const uint lid = get_local_id(0), side = get_group_id(0);
% if picked:
    global const uint *const ids = side ? upper : lower;
    const uint wild = sizes[WILD], listed = sizes[in + side], total = wild || listed > ${most} * TILE ? 0 : listed;
    uint first = 0, kept = 0;                // of the list that is read next; corners that were found before
% else:
    local uint wild;
    if (lid == 0)
        wild = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
% endif
    uint found;
% if picked:
    do {
    const uint count = min(kept + total - first, (uint)TILE);
% else:
    {
    uint count = n > TILE ? 0 : n;
% endif
    for (uint i = lid; i < count; i += WG_SIZE) {
        const point_t p = CLGEOM_LOAD2(${real}, points, (size_t)ID(i));
        x[i] = p.x;
        y[i] = p.y;
% if real != "int" and not picked:
        if (!(isfinite(p.x) && isfinite(p.y)))
            wild = 1;
% endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
% if not picked:
    count = wild ? 0 : count;
% endif

    // A place moves to where so many are before it: within a run, then within two of them. The loops end as in
    // hood/hood_group.h.
    local ushort *sorted = places, *to = others;
    for (uint i = lid; i < count; i += WG_SIZE) {
        const uint run = i & ~(RUN - 1), end = min(run + RUN, count);
        const real_t own_x = x[i], own_y = y[i];
        uint rank = run, equal = 0;
#pragma unroll 4
        for (uint k = run; k < end; ++k) {
            const int same_x = x[k] == own_x;
            rank += (x[k] < own_x) | (same_x & (y[k] < own_y));
            equal += same_x & (y[k] == own_y);
        }
        for (uint k = run; k < end && equal > 1; ++k)      // other points in the same place
            rank += x[k] == own_x && y[k] == own_y && ID(k) < ID(i);
        sorted[rank] = i;
    }
    for (uint width = RUN;; width *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (width >= count)
            break;
        for (uint i = lid; i < count; i += WG_SIZE) {
            const uint place = sorted[i], run = i & ~(width - 1), other = min(run ^ width, count);
            uint lo = other, hi = min(other + width, count);
            while (lo < hi) {
                const uint mid = (lo + hi) / 2, at = sorted[mid];
                if (BEFORE(at, place))
                    lo = mid + 1;
                else
                    hi = mid;
            }
            to[(run & ~width) + (i - run) + (lo - other)] = place;
        }
        local ushort *const swap = sorted;
        sorted = to;
        to = swap;
    }

    // What is beyond a chord of points on either side is no corner. Again while that thins a list with few corners out.
    local ushort *const ends = tangent_p;
    uint rest = count, before;
    do {
        before = rest;
        uint stays = 0;
        for (uint k = 0; k < ITEMS; ++k) {
            const uint i = lid * ITEMS + k;
            int beyond = i >= before;
            for (uint apart = 1; apart <= i && i + apart < before && !beyond; apart *= 4)
                beyond = hood_turn(side, POINT(i - apart), POINT(i + apart), POINT(i)) > 0;
            stays |= (uint)!beyond << k;
        }
        ends[lid] = popcount(stays);
        for (uint apart = 1; apart < WG_SIZE; apart *= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            const uint others = lid >= apart ? ends[lid - apart] : 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            ends[lid] += others;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        rest = ends[WG_SIZE - 1];
        uint end = ends[lid] - popcount(stays);
        for (uint k = 0; k < ITEMS; ++k)
            if (stays >> k & 1)
                to[end++] = sorted[lid * ITEMS + k];
        local ushort *const swap = sorted;
        sorted = to;
        to = swap;
        barrier(CLK_LOCAL_MEM_FENCE);
    } while ((rest > FEW) & (rest < before / 4 * 3));

    const merge_t merge = {merge_sizes, tangent_p, tangent_q, sorted, sorted + WG_SIZE};
    found = group_hood(x, y, sorted, rest, to, merge, lid, side);
    vertex_t mine[ITEMS];                    // ids of corners found before are read where these are written
#pragma unroll
    for (uint k = 0; k < ITEMS; ++k)
        if (k * WG_SIZE + lid < found) {
            const uint at = to[k * WG_SIZE + lid];
            mine[k].x = x[at];
            mine[k].y = y[at];
            mine[k].id = ID(at);
        }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
#pragma unroll
    for (uint k = 0; k < ITEMS; ++k)
        if (k * WG_SIZE + lid < found)
            RECORD(k * WG_SIZE + lid) = mine[k];
% if picked:
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    first += count - kept;
    kept = found;
    } while ((first < total) & (found <= TILE / 2));
    found = first < total ? 0 : found;
% else:
    }
% endif
    if (lid == 0) {
        hull[side].id = found;
        if (side == 0)
            hull[2].id = wild;
    }
}
