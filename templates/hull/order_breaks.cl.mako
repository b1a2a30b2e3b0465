<%page args="real='double', variant='group', wg_size=256, items_per_thread=1"/>\
// order_breaks: whether points sorted by x alone are out of order in y where x is equal.
//
//   points  | p0 p1 | p2 ..          found is set to 1 when p(i).x = p(i + 1).x and p(i).y > p(i + 1).y for some i
//
// Reads every point once.
#include "portable.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void order_breaks(global const ${real} *points, const uint n, global uint *found)
{
    const uint share = (n + get_global_size(0) - 1) / get_global_size(0);
% if variant == "serial":
    const uint first = min(get_global_id(0) * share, (size_t)n), end = first + min(share, n - first), stride = 1;
% else:
    const uint first = get_global_id(0), end = n, stride = get_global_size(0);
% endif
    uint broken = 0;
    for (uint i = first; i < end; i += stride)
        if (i + 1 < n) {
            const ${real}2 p = vload2(i, points), q = vload2(i + 1, points);
            broken |= p.x == q.x && p.y > q.y;
        }
    if (broken)
        *found = 1;
}
