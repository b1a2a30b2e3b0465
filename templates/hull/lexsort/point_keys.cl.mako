<%page args="bits=32, floating=1, what='both', picked=True, variant='group', wg_size=256, items_per_thread=1"/>\
<% coordinate, key = ("uint", "ulong") if bits == 32 else ("ulong", "ulong") %>\
// point_keys: sort keys of points, as unsigned integers that compare as the points do.
//
//   ids   | 7 2 9 .. |              rows of points${"" if picked else ": here 0 1 2 .."}
//   keys  | x7 y7 | x2 y2 | ..      x in the high bits and y in the low ones ("both", 32-bit coordinates), or "x" or "y"
//
//   broken  0, for order_mend
//
// -0.0 gets the key of +0.0. Each work-item reads a point and writes a key.
#include "portable.h"
#define CLGEOM_KEY_BITS ${bits}
#define CLGEOM_KEY_FLOAT ${floating}
#include "keys/key_order.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void point_keys(global const ${coordinate} *points, global const uint *ids, const uint n, const ${coordinate} flip,
                global ${key} *keys, global uint *broken)
{
    if (get_global_id(0) == 0)
        *broken = 0;
    const uint share = (n + get_global_size(0) - 1) / get_global_size(0);
% if variant == "serial":
    const uint first = min(get_global_id(0) * share, (size_t)n), end = first + min(share, n - first), stride = 1;
% else:
    const uint first = get_global_id(0), end = n, stride = get_global_size(0);
% endif
    for (uint i = first; i < end; i += stride) {
        const size_t row = ${"ids[i]" if picked else "i"};
% if what == "both":
        const uint2 p = vload2(row, points);
        keys[i] = (ulong)key_digits(p.x, flip) << 32 | key_digits(p.y, flip);
% else:
        keys[i] = key_digits(points[2 * row + ${"xy".index(what)}], flip);
% endif
    }
}
