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
    global const uint4 *nodes;
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

// The key of a vertex whose key is_open, from its area: still open unless that alone decides.
inline uint keyed(const vertices_t *all, uint vertex, uint4 node, uint map)
{
    uint key = node.KEY;
    if (key == NEW) {
        const uint p = node.BEFORE, n = node.BEHIND;
        if (p == n)
            return NEVER;
        key = searchable(all->saddles, vertex, p, n,
                         cross_of(vload2(p, all->corners), vload2(n, all->corners), vload2(vertex, all->corners)));
    }
#if !BOUNDED
    // a triangle of twice the area 1 has no points of the lattice but its corners, and is within every limit
    if (key == (UNCHECKED | 1)) {
#if NESTED
        if (is_marked(all->outer + map * all->stride, all->words, vload2(vertex, all->corners)))
            return NEVER;
#endif
        return 1;
    }
#endif
    return key;
}

// Whether something is in the way of a removal that adds this area: share `part` of the search, of `parts` in all.
inline int is_blocked(const vertices_t *all, uint vertex, uint area, uint map, uint part, uint parts)
{
    const uint before = all->nodes[vertex].BEFORE, behind = all->nodes[vertex].BEHIND;
    const int2 p = vload2(before, all->corners), v = vload2(vertex, all->corners), n = vload2(behind, all->corners);
    global const uint *const bitmap = all->bitmaps + map * all->stride, *const outer = all->outer + map * all->stride;
    const int is_small = area - 1 < FEW;   // not of area 0, which may be long
#if NESTED
    if (is_marked(outer, all->words, v))
        return 1;
#endif
    if (is_small && area > 1 && part == 0 && holds_by_weights(bitmap, outer, all->words, p, v, n, (int)area))
        return 1;
    if (!is_small && area > 1 && holds(bitmap, all->words, p, v, n, 1, part, parts))
        return 1;
    if (NESTED && !is_small && holds(outer, all->words, p, v, n, 0, part, parts))
        return 1;
#if BOUNDED
    // the corners of the exact ring between p and n are at most the tolerance away from the new edge
    const uint ring = all->ring_of[vertex], begin = all->begins[ring], end = all->begins[ring + 1];
    const float x = (float)(n.x - p.x), y = (float)(n.y - p.y), most = all->tolerance * (x * x + y * y);
    const uint count = behind - before - 1 + (behind > before ? 0 : end - begin);
    for (uint k = part; k < count; k += parts) {
        const uint hidden = before + 1 + k < end ? before + 1 + k : before + 1 + k - end + begin;
        const float away = (float)cross_of(p, n, vload2(hidden, all->corners));
        if (away * away > most)
            return 1;
    }
#endif
    return 0;
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
inline int is_chosen(global const uint4 *nodes, uint vertex, uint4 node, global const uint *mask_of,
                     global const ulong *facts, uint *last)
{
    const uint key = node.KEY, p = node.BEFORE, q = node.BEHIND;
    const uint4 at_p = nodes[p], at_q = nodes[q];
    if (!is_before(key, vertex, at_p.KEY, p, mask_of, facts) || !is_before(key, vertex, at_q.KEY, q, mask_of, facts))
        return 0;
    const uint beyond = at_p.BEFORE;
    if (beyond == at_q.BEHIND && beyond != vertex
        && !is_before(key, vertex, nodes[beyond].KEY, beyond, mask_of, facts))
        return 0;
    *last = beyond == q ? LAST : 0;
    return 1;
}
