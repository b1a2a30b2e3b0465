<%page args="nested=False, bounded=False, variant='group', wg_size=256, items_per_thread=1"/>\
// outward_measure: what the removal of a vertex would add, for the vertices whose neighbours have changed.
//
//   p o- - - - -o n     Without v the ring goes from p to n, and the triangle is added: twice its area is the vertex's key.
//      \   +  /         A vertex is kept where that is no addition (the ring turns outward there), where two rings touch,
//       \  /            and where a corner of any ring is in the triangle. So rings never cross, and need no order.
//        v
//
// keys: twice the area; UNCHECKED is added until the triangle has been searched, once the area is at most `limit`. NEVER
// for vertices that stay while p and n do. NEW asks for a key.
// `after` follows the exact ring: its corners between p and n are at most the tolerance away from the new edge.
#include "portable.h"
#include "rings/state.h"
#include "rings/triangle.h"
#define WG_SIZE ${wg_size}
#define UNCHECKED 0x80000000u
#define NEVER 0xffffffffu
#define NEW 0xfffffffeu

inline long cross_of(int2 a, int2 b, int2 c)
{
    return ((long)b.x - a.x) * ((long)c.y - a.y) - ((long)b.y - a.y) * ((long)c.x - a.x);
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void outward_measure(global const int *corners, global const uchar *saddles, global const uint *masks,
                     global const uint *alive, global const uint *previous,
                     global const uint *next, global const uint *bitmaps, global const uint *outer,
                     global const uint *after, const uint words, const ulong stride, const float tolerance,
                     const uint limit, global uint *keys, volatile global uint *state)
{
    const uint n = state[COUNT];
    uint least = NEVER;
% if variant == "serial":
    const uint share = (n + get_global_size(0) - 1) / get_global_size(0);
    const uint begin = min(get_global_id(0) * share, (size_t)n), end = begin + min(share, n - begin), step = 1;
% else:
    const uint begin = get_global_id(0), end = n, step = get_global_size(0);
% endif
    for (uint i = begin; i < end; i += step) {
        const uint vertex = alive[i];
        uint key = keys[vertex];
        if (key == NEVER || key <= limit)
            continue;
        const uint before = previous[vertex], behind = next[vertex];
        const int2 p = vload2(before, corners), v = vload2(vertex, corners), q = vload2(behind, corners);
        if (key == NEW) {
            const long area = cross_of(p, q, v);
            const int fixed = saddles[vertex] || (saddles[before] && saddles[behind]) || before == behind;
            key = fixed || area < 0 || area >= 0x7ffffff0 ? NEVER : UNCHECKED | (uint)area;
        }
        if (key != NEVER && (key & UNCHECKED)) {
            if ((key ^ UNCHECKED) > limit)
                least = min(least, key ^ UNCHECKED);
            else {
                key ^= UNCHECKED;
                const ulong own = masks[vertex] * stride;
                if (key > 1 && holds_own(bitmaps + own, words, p, v, q))
                    key = NEVER;
% if nested:
                if (key != NEVER && holds_other(outer + own, words, p, v, q))
                    key = NEVER;
% endif
% if bounded:
                if (key != NEVER) {
                    const float x = (float)(q.x - p.x), y = (float)(q.y - p.y), most = tolerance * (x * x + y * y);
                    for (uint hidden = after[before]; hidden != behind; hidden = after[hidden]) {
                        const float away = (float)cross_of(p, q, vload2(hidden, corners));
                        if (away * away > most) {
                            key = NEVER;
                            break;
                        }
                    }
                }
% endif
            }
        }
        keys[vertex] = key;
    }
    if (least != NEVER)
        atomic_min(&state[PENDING], least);
}
