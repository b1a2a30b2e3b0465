// arc/arc_group.h: the hull of a list of candidates in global memory by a work-group. The includer has portable.h,
// geometry/orient2d.h, real_t, point_t, KEEP_COLLINEAR 0, hood/hood.h, WG_SIZE and POINT(points, id), the coordinates of a
// candidate.

#include "arc/arc_before.h"
#define ARC_FENCE() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

typedef struct { global const real_t *points; global const uint *corners; } hull_t;

inline point_t arc_corner(const hull_t *hull, uint index)
{
    return POINT(hull->points, hull->corners[index]);
}

#include "arc/arc_chain.h"
#include "arc/arc_tangent.h"

#define ARC_ID(i) list[i]
#define ARC_LOAD(id) POINT(points, id)
#define ARC_STACK(k) list[first + (k)]

inline uint item_chain_of_list(global const real_t *points, global uint *list, uint first, uint count, uint side)
{
    uint size;
    ARC_CHAIN(first, count, side, size)
    return size;
}

#undef ARC_ID
#undef ARC_LOAD
#undef ARC_STACK

// Leaves the corners at the beginning of the list and returns their number. Every work-item finds the hull of a strip; then
// neighbouring hulls are merged two by two: a work-item finds the tangent, and all move the remaining corners of the right
// hull. sizes has WG_SIZE numbers, parts 3 WG_SIZE.
inline uint group_hull_of_list(global const real_t *points, global uint *list, uint count, uint side, uint lid,
                               local uint *sizes, local uint *parts)
{
    const uint strip = max((count + WG_SIZE - 1) / WG_SIZE, 1u), first = min(lid * strip, count);
    const hull_t hull = {points, list};
    sizes[lid] = item_chain_of_list(points, list, first, min(strip, count - first), side);
    for (uint span = 1; span < WG_SIZE; span *= 2) {
        const uint pairs = WG_SIZE / (2 * span);     // both are powers of two
        ARC_FENCE();
        if (lid < pairs) {
            const uint left = lid * 2 * span, right = left + span;
            uint p_first = left * strip, p_size = sizes[left], q_first = right * strip, q_size = sizes[right];
            if (p_size > 0 && q_size > 0) {
                const point_t end = arc_corner(&hull, p_first + p_size - 1), start = arc_corner(&hull, q_first);
                if (end.x == start.x) {                       // a column of both: its outer point is taken
                    if (side ? end.y >= start.y : end.y <= start.y) {
                        ++q_first;
                        --q_size;
                    } else
                        --p_size;
                }
            }
            if (p_size > 0 && q_size > 0) {
                const uint2 touched = arc_tangent(&hull, side, (uint2)(p_first, p_first + p_size - 1),
                                                  (uint2)(q_first, q_first + q_size - 1));
                p_size = touched.x - p_first + 1;
                q_size -= touched.y - q_first;
                q_first = touched.y;
            }
            parts[3 * lid] = p_first + p_size;                // destination of the remaining corners of Q
            parts[3 * lid + 1] = q_first;
            parts[3 * lid + 2] = q_size;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        uint most = 0;
        for (uint pair = 0; pair < pairs; ++pair)
            most = max(most, parts[3 * pair + 2]);
        const uint pair = lid / (2 * span), to = parts[3 * pair], from = parts[3 * pair + 1], moved = parts[3 * pair + 2];
        for (uint base = 0; base < most; base += 2 * span) {
            const uint k = base + lid % (2 * span);
            const uint id = k < moved ? list[from + k] : 0;
            ARC_FENCE();                                      // all reads precede the writes
            if (k < moved)
                list[to + k] = id;
            ARC_FENCE();
        }
        if (lid < pairs)
            sizes[lid * 2 * span] = parts[3 * lid] + parts[3 * lid + 2] - lid * 2 * span * strip;
    }
    ARC_FENCE();
    const uint size = sizes[0];
    ARC_FENCE();
    return size;
}
