// orient2d_signs: the exact orientation of each triple of points.
//
//   a, b, c  | p0 p1 p2 ..          one work-item, one triple
//   signs    | s0 s1 s2 ..          -1 clockwise, 0 collinear, +1 counter-clockwise; 2: a coordinate is not finite
//
// Reads three points and writes one byte a triple.
<%page args="real='float', filtered=True, variant='group', wg_size=64, items_per_thread=1"/>
#define CLGEOM_SERIAL ${int(variant == "serial")}
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void orient2d_signs(global const ${real} *a, global const ${real} *b, global const ${real} *c, const ulong n,
                    global char *signs)
{
    const ulong share = (n + get_global_size(0) - 1) / get_global_size(0);
#if CLGEOM_SERIAL
    const ulong first = get_global_id(0) * share, end = min(first + share, n), stride = 1;
#else
    const ulong first = get_global_id(0), end = n, stride = get_global_size(0);
#endif
    for (ulong i = first; i < end; i += stride) {
        const ${real}2 p = vload2(i, a), q = vload2(i, b), r = vload2(i, c);
% if real == "int":
        signs[i] = orient2d(p.x, p.y, q.x, q.y, r.x, r.y);
% else:
        signs[i] = all(isfinite(p) & isfinite(q) & isfinite(r)) ? orient2d(p.x, p.y, q.x, q.y, r.x, r.y) : 2;
% endif
    }
}
