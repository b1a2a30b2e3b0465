<%page args="real='float', filtered=True, keep=False, variant='group', wg_size=128, items_per_thread=8"/>\
// hood_blocks: the lower and the upper hood of every block of sorted points (first launch of the merge).
//
//   points   | block 0            | block 1            | ..      sorted by x, y, index; equal ones side by side
//            | strip | strip | .. |                              group: a strip of ${items_per_thread} to a work-item, solved
//                                                                serially, then merged in local memory, twice as long
//                                                                each time; serial: one work-item, one block
//   corners  [ lower: block 0, left-justified .. | block 1 .. ][ upper: .. ]        positions of points
//   state    [ runs: lower 0 1 2 .. | upper 0 1 2 .. ][ runs_of: 1 1 1 .. ]         for hood_merge, then
//            [ ranges: lower (first, last) of block 0 .. | upper .. ]               places in corners of the side
//
// Of equal points the first is kept. A strip is Andrew's monotone chain; a merge, by one work-item, finds the common
// tangent by nested binary search. Reads every point twice (once a side), writes the corners.
// Source: Wagener, "Optimally parallel algorithms for convex hull determination" (1985), in the work-optimal form.
#include "portable.h"
#define CLGEOM_COORD_${real}
#define CLGEOM_FILTERED ${int(filtered)}
#include "orient2d.h"
typedef ${real} real_t;
typedef ${real}2 point_t;
#define KEEP ${int(keep)}
#include "hood.h"
#define WG_SIZE ${wg_size}
#define STRIP ${items_per_thread}
#define BLOCK (WG_SIZE * STRIP)

% if variant == "serial":
#include "hood_strip.h"
% else:
typedef struct { local const real_t *x, *y; local const ushort *hood; uint side; } hood_t;

inline point_t corner(const hood_t *hoods, uint k)
{
    const uint at = hoods->hood[k];
    return (point_t)(hoods->x[at], hoods->y[at]);
}

// The corner of Q, of those from lo to hi, on the tangent from p.
inline uint touch(const hood_t *hoods, point_t p, uint lo, uint hi)
{
    while (lo < hi) {
        const uint mid = (lo + hi) / 2;
        const int turn = TURN(hoods->side, p, corner(hoods, mid), corner(hoods, mid + 1));
        if (BEYOND_Q(turn))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

% endif
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void hood_blocks(global const real_t *points, const uint n, const uint block_size, const uint blocks,
                 global uint *corners, global uint *state)
{
    global uint *runs = state, *runs_of = state + 2 * blocks;
    global uint *ranges = state + 4 * blocks;
    const uint side = get_group_id(0) & 1, block = get_group_id(0) / 2, begin = block * block_size;
    const uint count = min(block_size, n - begin);
    corners += (ulong)side * n + begin;
% if variant == "serial":
    const uint size = item_strip(points, begin, count, side, corners);
% else:
    local real_t x[BLOCK], y[BLOCK];
    local ushort hood[BLOCK];
    local ushort sizes[WG_SIZE], tangent_p[WG_SIZE], tangent_q[WG_SIZE];
    const uint lid = get_local_id(0);
    for (uint i = lid; i < count; i += WG_SIZE) {
        const point_t p = CLGEOM_LOAD2(${real}, points, begin + i);
        x[i] = p.x;
        y[i] = p.y;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const hood_t hoods = {x, y, hood, side};
    const uint strip = lid * STRIP;
    uint size = 0;
    for (uint i = strip; i < min(strip + STRIP, count); ++i) {
        const point_t p = (point_t)(x[i], y[i]);
        if (size > 0) {
            const point_t top = corner(&hoods, strip + size - 1);
            if (p.x == top.x && p.y == top.y)
                continue;
        }
        while (size > 1) {
            const int turn = TURN(side, corner(&hoods, strip + size - 2), corner(&hoods, strip + size - 1), p);
            if (IS_CORNER(turn))
                break;
            --size;
        }
        hood[strip + size++] = i;
    }
    sizes[lid] = size;

    // Hoods of `span` strips become hoods of twice as many. sizes[s]: corners of the hood that begins with strip s.
    for (uint span = 1; span < WG_SIZE; span *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint left = lid * 2 * span, right = left + span;
        if (right < WG_SIZE) {
            const uint p_first = left * STRIP, p_size = sizes[left], q_first = right * STRIP, q_size = sizes[right];
            uint p = p_first + p_size - 1, q = q_first;      // P stays as it is and Q is empty
            uint q_last = q_first + q_size;                  // one past
            if (q_size > 0) {
                const point_t end = corner(&hoods, p), start = corner(&hoods, q);
                q += end.x == start.x && end.y == start.y;   // an equal point of higher index
            }
            if (q < q_last) {
                uint lo = p_first, hi = p, from_lo = q, from_hi = q;   // where the tangents from lo and hi touch Q
                --q_last;
                while (lo < hi) {
                    const uint mid = (lo + hi) / 2;
                    const point_t from = corner(&hoods, mid);
                    const uint at = touch(&hoods, from, min(from_lo, from_hi), q_last);
                    const int turn = TURN(side, from, corner(&hoods, at), corner(&hoods, mid + 1));
                    if (BEYOND_P(turn)) {
                        lo = mid + 1;
                        from_lo = at;
                    } else {
                        hi = mid;
                        from_hi = at;
                    }
                }
                p = lo;
                q = touch(&hoods, corner(&hoods, p), min(from_lo, from_hi), q_last);
            }
            tangent_p[left] = p;
            tangent_q[left] = q;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        // What remains of Q moves to what remains of P: each work-item moves the places of its strip.
        const uint pair = lid / (2 * span) * 2 * span, q_strip = pair + span;
        const uint q_end = q_strip * STRIP + (q_strip < WG_SIZE ? sizes[min(q_strip, (uint)WG_SIZE - 1)] : 0);
        const uint keeps = tangent_p[pair] + 1, from = tangent_q[pair];
        ushort moved[STRIP];
        for (uint k = 0; k < STRIP; ++k)
            moved[k] = hood[strip + k];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid >= q_strip)
            for (uint k = 0; k < STRIP; ++k)
                if (strip + k >= from && strip + k < q_end)
                    hood[keeps + (strip + k - from)] = moved[k];
        if (lid == pair)
            sizes[pair] = keeps - pair * STRIP + (q_end > from ? q_end - from : 0);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    size = sizes[0];
    for (uint k = lid; k < size; k += WG_SIZE)
        corners[k] = begin + hood[k];
% endif
    if (get_local_id(0) == 0) {
        vstore2((uint2)(begin, begin + size - 1), side * blocks + block, ranges);
        runs[side * blocks + block] = block;
        runs_of[side * blocks + block] = 1;
    }
}
