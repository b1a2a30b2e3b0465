// rings/measure.h: what the removal of a vertex would add, which vertices go in a round, and how they go.
//
//   p o- - - - -o n     Without v the ring goes from p to n, and the triangle is added: twice its area is the vertex's key.
//      \   +  /         A vertex is kept where that is no addition (the ring turns outward there), where two rings touch,
//       \  /            and where a corner of any ring is in the triangle. So rings never cross, and need no order.
//        v
//
// The includer has NESTED (a vertex of the level around may be in the way) and BOUNDED (a tolerance limits distances).
#include "rings/state.h"
#include "rings/triangle.h"

typedef struct {
    global const int *corners;
    global const uchar *saddles;
    global const uint *ring_of, *begins;
    global uint *previous, *next, *keys;
    global const uint *bitmaps, *outer;   // of all maps
    uint words;
    ulong stride;
    float tolerance;                      // squared
} vertices_t;

// The key of a vertex between p and q whose triangle is not searched yet, from its area.
inline uint searchable(global const uchar *saddles, uint vertex, uint p, uint q, span_t area)
{
    if (area < 0 || area >= 0x7ffffff0 || saddles[vertex] || (saddles[p] && saddles[q]))
        return NEVER;
    return UNCHECKED | (uint)area;
}

// The key of a vertex whose key is_open; searched only where it is below `beyond`.
inline uint measured(const vertices_t *all, uint vertex, uint key, uint map, uint beyond)
{
    if (key != NEW && (key ^ UNCHECKED) >= beyond)
        return key;
    const uint before = all->previous[vertex], behind = all->next[vertex];
    const int2 p = vload2(before, all->corners), v = vload2(vertex, all->corners), q = vload2(behind, all->corners);
    if (key == NEW) {
        if (before == behind)
            return NEVER;
        key = searchable(all->saddles, vertex, before, behind, cross_of(p, q, v));
        if (key == NEVER || (key ^ UNCHECKED) >= beyond)
            return key;
    }
    key ^= UNCHECKED;
    // a triangle of twice the area 1 has no points of the lattice but its corners
    if (key > 1 && holds_own(all->bitmaps + map * all->stride, all->words, p, v, q))
        return NEVER;
#if NESTED
    global const uint *const around = all->outer + map * all->stride;
    if (is_marked(around, all->words, v) || (key != 1 && holds_other(around, all->words, p, v, q)))
        return NEVER;
#endif
#if BOUNDED
    // the corners of the exact ring between p and n are at most the tolerance away from the new edge
    const uint ring = all->ring_of[vertex], begin = all->begins[ring], end = all->begins[ring + 1];
    const float x = (float)(q.x - p.x), y = (float)(q.y - p.y), most = all->tolerance * (x * x + y * y);
    for (uint hidden = before + 1 == end ? begin : before + 1; hidden != behind;
         hidden = hidden + 1 == end ? begin : hidden + 1) {
        const float away = (float)cross_of(p, q, vload2(hidden, all->corners));
        if (away * away > most)
            return NEVER;
    }
#endif
    return key;
}

// Whether a vertex goes before another one of its mask. Mixed numbers let many of equal keys go at once; they are counted
// within the mask, so that other maps of a stack do not matter.
inline int is_before(uint key, uint vertex, uint other_key, uint other, global const uint *mask_of,
                     global const ulong *facts)
{
    if (key != other_key)
        return key < other_key;
    const uint first = (uint)facts[1 + 2 * mask_of[vertex]];
    return (vertex - first) * 2654435761u < (other - first) * 2654435761u;
}

// Whether a vertex of this key goes: those of least key (and least mixed number) among their neighbours. No two neighbours
// do, so all can be removed at once, in any order; of a ring of four, one goes. `area` becomes what to remember.
//
//   keys    5  3  4  .  2
//              ^        ^        ("." is above the limit)
inline int is_chosen(global const uint *previous, global const uint *next, global const uint *keys, uint vertex, uint key,
                     global const uint *mask_of, global const ulong *facts, uint *area)
{
    const uint p = previous[vertex], q = next[vertex];
    if (!is_before(key, vertex, keys[p], p, mask_of, facts) || !is_before(key, vertex, keys[q], q, mask_of, facts))
        return 0;
    const uint beyond = previous[p];
    if (beyond == next[q] && beyond != vertex && !is_before(key, vertex, keys[beyond], beyond, mask_of, facts))
        return 0;
    *area = key | (beyond == q ? LAST : 0);
    return 1;
}
