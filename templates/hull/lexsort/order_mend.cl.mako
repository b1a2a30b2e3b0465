<%page args="real='float', outer=False, variant='group', wg_size=256, items_per_thread=1"/>\
// order_mend: points sorted by x, brought into the order of x, y and id.
//
//   points  | a a a | b | c c | ..      a run has one x; the work-item of its first point brings it into order
//   ids     | 9 4 7 | 1 | 3 5 | ..
% if outer:
//   for hulls only the lowest and the highest point of a run matter: the others become copies of the lowest
% else:
//   by insertion
% endif
//   only y is written: other work-items read the x of a run meanwhile, which are equal except for the sign of zero
//   found becomes 1 when a run of more than LIMIT points may be out of order, and is left unsorted
//
// Reads every point once. Runs are rare and short unless coordinates are on a grid.
#define CLGEOM_SERIAL ${int(variant == "serial")}
#define OUTER ${int(outer)}
#define REAL ${real}
#include "geometry/points.h"
#define LIMIT ${1 << 14 if outer else 32}

inline int after(point_t p, uint p_id, point_t q, uint q_id)
{
    return p.y > q.y || (p.y == q.y && p_id > q_id);
}

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void order_mend(global ${real} *points, global uint *ids, const uint n, global uint *found)
{
    const uint share = (n + get_global_size(0) - 1) / get_global_size(0);
#if CLGEOM_SERIAL
    const uint first = min(get_global_id(0) * share, (size_t)n), end = first + min(share, n - first), stride = 1;
#else
    const uint first = get_global_id(0), end = n, stride = get_global_size(0);
#endif
    for (uint i = first; i < end; i += stride) {
        if (i + 1 == n)
            break;
        const ${real} x = points[2 * (size_t)i];
        if (points[2 * (size_t)i + 2] != x)
            continue;
        uint last = i + 1;
#if OUTER
        if (i > 0 && points[2 * (size_t)i - 2] == x)
            continue;
        point_t low = vload2(i, points), high = low;
        uint low_id = ids[i], high_id = low_id;
        for (; last < n && last - i < LIMIT; ++last) {
            if (points[2 * (size_t)last] != x)
                break;
            const point_t p = vload2(last, points);
            const uint id = ids[last];
            if (after(low, low_id, p, id)) {
                low = p;
                low_id = id;
            }
            if (p.y > high.y || (p.y == high.y && id < high_id)) {
                high = p;
                high_id = id;
            }
        }
        if (last - i == LIMIT)
            *found = 1;
        else
            for (uint k = i; k < last; ++k) {
                points[2 * (size_t)k + 1] = k + 1 < last ? low.y : high.y;
                ids[k] = k + 1 < last ? low_id : high_id;
            }
#else
        // The run, up to its limit. Sorting changes no x.
        uint begin = i;
        while (begin > 0 && i - begin < LIMIT && points[2 * (size_t)begin - 2] == x)
            --begin;
        while (last + 1 < n && last - begin < LIMIT && points[2 * (size_t)last + 2] == x)
            ++last;
        if (last - begin >= LIMIT) {
            const point_t p = vload2(i, points), q = vload2(i + 1, points);
            if (after(p, ids[i], q, ids[i + 1]))
                *found = 1;
        } else if (begin == i) {
            for (uint k = begin + 1; k <= last; ++k) {
                const point_t p = vload2(k, points);
                const uint id = ids[k];
                uint at = k;
                while (at > begin) {
                    const point_t q = vload2(at - 1, points);
                    if (!after(q, ids[at - 1], p, id))
                        break;
                    points[2 * (size_t)at + 1] = q.y;
                    ids[at] = ids[at - 1];
                    --at;
                }
                if (at < k) {
                    points[2 * (size_t)at + 1] = p.y;
                    ids[at] = id;
                }
            }
        }
#endif
    }
}
