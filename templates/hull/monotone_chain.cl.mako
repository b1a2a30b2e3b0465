<%page args="real='float', filtered=True, keep=False, variant='serial', wg_size=1, items_per_thread=1"/>\
// monotone_chain: the lower and the upper hull of sorted points, each by one work-item with a stack.
//
//   points  | p0 p1 p2 .. |                sorted by x, then y, then index; equal ones side by side
//   item 0  | -> -> ->    |  stack[0 ..]       lower hull, left to right
//   item 1  |    <- <- <- |  stack[n ..]       upper hull, right to left: both counter-clockwise
//
// A point that does not turn left${" or go straight" if keep else ""} of the last edge pops the stack. Of equal points the one of lowest
// index, the first, is kept. Every point is pushed and popped at most once.
// Source: Andrew, "Another efficient algorithm for convex hulls in two dimensions", Inf. Process. Lett. 9 (1979).
#include "portable.h"
#define CLGEOM_COORD_${real}
#define CLGEOM_FILTERED ${int(filtered)}
#include "orient2d.h"

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void monotone_chain(global const ${real} *points, const uint n, global uint *stack, global uint *sizes)
{
    const uint side = get_global_id(0);
    stack += (ulong)side * n;
    uint size = 0;
    ${real}2 below, top;                    // the two points on top of the stack
    for (uint k = 0; k < n; ++k) {
        const uint i = side ? n - 1 - k : k;
        const ${real}2 p = vload2(i, points);
        if (size > 0 && p.x == top.x && p.y == top.y) {
            if (side)
                stack[size - 1] = i;
            continue;
        }
        while (size > 1 && orient2d(below.x, below.y, top.x, top.y, p.x, p.y) ${"<" if keep else "<="} 0) {
            --size;
            top = below;
            if (size > 1)
                below = vload2(stack[size - 2], points);
        }
        stack[size++] = i;
        below = top;
        top = p;
    }
    sizes[side] = size;
}
