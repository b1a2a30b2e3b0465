// classes/halves.h: the halves of arcs that meet at a node. With VALUE, the type of classes, the includer has classes/unite.h.
//
//           |            half 2 arc goes forwards along an arc, with its left face at the left, half 2 arc + 1 backwards
//        ---o---         with the right one. A ring keeps round the cells of its face, so it arrives by the next side to the
//           | f <        left of the one by which it leaves; but where a face has both cells of a diagonal, by the side to the
//         d v            right: it crosses over, so that no ring passes a node twice.
#include "classes/bits.h"
typedef struct {
    uint4 arcs;           // the arc at each side
    uint leaves, any;     // which sides leave the node, and which there are
    int4 faces;           // of a node of four sides those at the left of what leaves by each
} node_t;

inline uint arc_at(const node_t *own, uint d)
{
    const uint2 two = d & 2 ? own->arcs.zw : own->arcs.xy;
    return d & 1 ? two.y : two.x;
}

// A node: its first step that leaves, and the arcs that arrive by each side.
inline node_t node_at(uint leaves, uint any, uint step, global const uint *arrivals, global const int *left,
                      global const int *right)
{
    node_t own = {0, leaves, any, 0};
    own.arcs.x = leaves & 1 ? step : any & 1 ? arrivals[0] : 0;
    step += leaves & 1;
    own.arcs.y = leaves & 2 ? step : any & 2 ? arrivals[1] : 0;
    step += leaves >> 1 & 1;
    own.arcs.z = leaves & 4 ? step : any & 4 ? arrivals[2] : 0;
    step += leaves >> 2 & 1;
    own.arcs.w = leaves & 8 ? step : any & 8 ? arrivals[3] : 0;
    if (any == 15)
        own.faces = (int4)((leaves & 1 ? left : right)[own.arcs.x], (leaves & 2 ? left : right)[own.arcs.y],
                           (leaves & 4 ? left : right)[own.arcs.z], (leaves & 8 ? left : right)[own.arcs.w]);
    return own;
}

inline uint leaving_half(const node_t *own, uint d)
{
    return 2 * arc_at(own, d) + !(own->leaves >> d & 1);
}

// The half that arrives before the one that leaves by a side.
inline uint arriving_half(const node_t *own, uint d)
{
    const int crosses = own->any == 15 && (d & 1 ? own->faces.y == own->faces.w : own->faces.x == own->faces.z);
    const uint e = (d + (crosses ? 3 : 1 + lowest_bit((own->any | own->any << 4) >> (d + 1)))) % 4;
    return 2 * arc_at(own, e) + (own->leaves >> e & 1);
}

#ifdef VALUE
// Gives faces of one class at a diagonal one root.
inline void unite_diagonals(const node_t *own, global const VALUE *values, volatile global uint *parents)
{
    if (own->faces.x >= 0 && own->faces.z >= 0 && values[own->faces.x] == values[own->faces.z])
        unite(parents, own->faces.x, own->faces.z);
    if (own->faces.y >= 0 && own->faces.w >= 0 && values[own->faces.y] == values[own->faces.w])
        unite(parents, own->faces.y, own->faces.w);
}
#endif
