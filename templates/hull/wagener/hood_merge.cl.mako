<%page args="real='float', filtered=True, keep_collinear=False, variant='group', wg_size=64, items_per_thread=1"/>\
// hood_merge: merges hoods of `span` blocks two by two; a work-group per pair and side.
//
//   P  | run | run | .. |   Q  | run | .. |      a run: the corners that remain of a block's hood, a range
//                  \______________/              the tangent touches p and q: the runs between are dropped, the runs of
//   H  | run | run |    | run | .. |             p and q are cut at p and q, and no corner is moved
//
// The work-group tries WG_SIZE evenly spaced corners of P at a time, first last corners of runs, then corners of one run.
// Each work-item finds the tangent from its corner to Q by binary search, which tells on which side the common tangent
// is. All corners on one side of it have the same result, so each step divides the bracket by WG_SIZE.
// Cost: O(log^2 / log WG_SIZE) dependent tests.
// Source: Wagener, "Optimally parallel algorithms for convex hull determination" (1985); the sampling of P is its own,
// the binary search in Q that of Overmars and van Leeuwen, "Maintenance of configurations in the plane" (1981).
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP_COLLINEAR ${int(keep_collinear)}
#include "hood/hood.h"
#define WG_SIZE ${wg_size}

typedef struct { global const real_t *points; global const uint *corners; global const uint *ranges; uint side; } hood_t;
#define SAMPLE(t) (lo + (uint)((ulong)(hi - lo) * ((t) + 1) / (WG_SIZE + 1)))
typedef struct { uint run, k; } position_t;     // corner k, in run number `run` of a hood

inline position_t lower(position_t a, position_t b)
{
    return a.run < b.run || (a.run == b.run && a.k < b.k) ? a : b;
}

inline point_t corner(const hood_t *hoods, uint k)
{
    return CLGEOM_POINT(hoods->points, hoods->corners[k]);
}

// The corner of the hood with these runs, from lo to hi, that the tangent from p touches.
inline position_t touch(const hood_t *hoods, global const uint *runs, point_t p, position_t lo, position_t hi)
{
    uint a = lo.run, b = hi.run;
    while (a < b) {
        const uint mid = (a + b) / 2;
        const int turn = hood_turn(hoods->side, p, corner(hoods, hoods->ranges[2 * runs[mid] + 1]),
                              corner(hoods, hoods->ranges[2 * runs[mid + 1]]));
        if (BEYOND_Q(turn))
            a = mid + 1;
        else
            b = mid;
    }
    position_t found = {a, a == lo.run ? lo.k : hoods->ranges[2 * runs[a]]};
    uint last = a == hi.run ? hi.k : hoods->ranges[2 * runs[a] + 1];
    while (found.k < last) {
        const uint mid = (found.k + last) / 2;
        const int turn = hood_turn(hoods->side, p, corner(hoods, mid), corner(hoods, mid + 1));
        if (BEYOND_Q(turn))
            found.k = mid + 1;
        else
            last = mid;
    }
    return found;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void hood_merge(global const real_t *points, const uint n, const uint blocks, const uint span,
                global const uint *corners, global uint *state)
{
    global uint *runs = state, *runs_of = state + 2 * blocks;
    global uint *ranges = state + 4 * blocks;
    local uint local_beyond[WG_SIZE + 1];
    local position_t local_touch[WG_SIZE], bracket_touch[2];
    local uint2 bracket;
    const uint lid = get_local_id(0), side = get_group_id(0) & 1;
    const uint p_base = get_group_id(0) / 2 * 2 * span, q_base = p_base + span;     // q_base < blocks
    const hood_t hoods = {points, corners + (ulong)side * n, ranges + 2 * side * blocks, side};
    global const uint *p_runs = runs + side * blocks + p_base, *q_runs = runs + side * blocks + q_base;
    const uint p_count = runs_of[side * blocks + p_base], q_count = runs_of[side * blocks + q_base];

    // The first corner of Q, without a point equal to the last of P, whose index is lower.
    position_t q_lo = {0, hoods.ranges[2 * q_runs[0]]}, q_hi = {q_count - 1, hoods.ranges[2 * q_runs[q_count - 1] + 1]};
    const point_t end = corner(&hoods, hoods.ranges[2 * p_runs[p_count - 1] + 1]), start = corner(&hoods, q_lo.k);
    if (end.x == start.x && end.y == start.y) {
        if (q_lo.k < hoods.ranges[2 * q_runs[0] + 1])
            ++q_lo.k;
        else if (q_count > 1)
            q_lo.k = hoods.ranges[2 * (q_runs[++q_lo.run])];
        else
            q_lo.run = 1;                                                            // no corner of Q remains
    }
    const int q_is_empty = q_lo.run == q_count;

    // The corners of Q that the tangents from both ends of the bracket touch. From left to right on P, tangents touch Q
    // further and further to the right up to the common one, then further and further to the left.
    position_t from_lo = q_lo, from_hi = q_lo;
    uint lo = 0, hi = q_is_empty ? 0 : p_count - 1, p_run = 0;
    for (int within_run = 0;;) {                     // the same for the whole group; ends as in hood/hood_group.h
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lo >= hi && !within_run) {               // among the last corners of runs; now among the corners of a run
            within_run = 1;
            p_run = q_is_empty ? p_count - 1 : lo;
            hi = hoods.ranges[2 * p_runs[p_run] + 1];
            lo = q_is_empty ? hi : hoods.ranges[2 * p_runs[p_run]];
        }
        if (lo >= hi)
            break;
        const uint mid = SAMPLE(lid);
        const point_t from = corner(&hoods, within_run ? mid : hoods.ranges[2 * p_runs[mid] + 1]);
        const point_t next = corner(&hoods, within_run ? mid + 1 : hoods.ranges[2 * p_runs[mid + 1]]);
        const position_t at = touch(&hoods, q_runs, from, lower(from_lo, from_hi), q_hi);
        const int turn = hood_turn(side, from, corner(&hoods, at.k), next);
        local_touch[lid] = at;
        local_beyond[lid] = BEYOND_P(turn);
        if (lid == 0) {
            local_beyond[WG_SIZE] = 0;
            bracket = (uint2)(lo, mid);
            bracket_touch[0] = from_lo;
            bracket_touch[1] = at;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (local_beyond[lid] && !local_beyond[lid + 1]) {   // the last that is beyond; none: as set above
            const int has_next = lid + 1 < WG_SIZE;
            bracket = (uint2)(mid + 1, has_next ? SAMPLE(lid + 1) : hi);
            bracket_touch[0] = at;
            bracket_touch[1] = has_next ? local_touch[min(lid + 1, (uint)WG_SIZE - 1)] : from_hi;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        lo = bracket.x;
        hi = bracket.y;
        from_lo = bracket_touch[0];
        from_hi = bracket_touch[1];
    }
    const uint p = lo;
    const position_t q = q_is_empty ? q_lo : touch(&hoods, q_runs, corner(&hoods, p), lower(from_lo, from_hi), q_hi);
    const uint moved = q_count - q.run, keeps = p_run + 1;
    const uint p_block = p_runs[p_run], q_block = moved ? q_runs[q.run] : 0;
    // The runs of Q move down to those of P, WG_SIZE at a time, from left to right: none is overwritten unread.
    for (uint k = 0;; k += WG_SIZE) {
        barrier(CLK_GLOBAL_MEM_FENCE);               // in the first iteration: all reads precede the changes
        if (k >= moved)
            break;
        const uint run = k + lid < moved ? q_runs[q.run + k + lid] : 0;
        barrier(CLK_GLOBAL_MEM_FENCE);
        if (k + lid < moved)
            runs[side * blocks + p_base + keeps + k + lid] = run;
    }
    if (lid == 0) {
        ranges[2 * (side * blocks + p_block) + 1] = p;
        if (moved)
            ranges[2 * (side * blocks + q_block)] = q.k;
        runs_of[side * blocks + p_base] = keeps + moved;
    }
}
