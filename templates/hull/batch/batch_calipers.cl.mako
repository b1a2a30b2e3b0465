<%page args="real='double', variant='serial', wg_size=1, items_per_thread=4096"/>\
// batch_calipers: the best of the calipers of some edges of a convex polygon, for each of many jobs.
//
//   corners  | polygon 0 . . . | 1 . . | 2 . . . . . . . . | ..      counter-clockwise
//   jobs       b n 0 n           b n ..  b n 0 m  b n m n            first corner, number of corners, first edge, end
//   found      edge across along back | ..                           corners of the polygon, and in the edge the bits
//                                                                    UNSURE_BEST and UNSURE_NUMBERS
//   bounds     low high | ..                                         of the measures of all edges, of the best
//   numbers    n0 n1 .. | ..                                         `width` of the best, for jobs that are a whole polygon
//
// Of a circle, `found` has its two corners and UINT_MAX, or its three corners.
//
// A job to a work-item. Reads a corner about four times, from a cache. batch/batch_calipers.h has the rest.
#define CLGEOM_SERIAL ${int(variant == 'serial')}
#include "portable.h"
#define WG_SIZE ${wg_size}
#define UNSURE_BEST 0x80000000u
#define UNSURE_NUMBERS 0x40000000u
typedef ${real} coord_t;
% if real == "int":
#define COORD_IN_RANGE(c) 1
% elif real == "float":
#define COORD_IN_RANGE(c) ((as_uint(c) << 1) == 0 || \
    (((as_uint(c) >> 23) & 0xff) >= 127 - 60 && ((as_uint(c) >> 23) & 0xff) < 127 + 120))
% else:
#define COORD_IN_RANGE(c) ((as_ulong(c) << 1) == 0 || \
    (((as_ulong(c) >> 52) & 0x7ff) >= 1023 - 60 && ((as_ulong(c) >> 52) & 0x7ff) < 1023 + 120))
% endif
#include "batch/batch_calipers.h"
#include "batch/batch_bounded.h"
#include "batch/batch_circle.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void batch_calipers(global const coord_t *corners, global const uint *jobs, const uint count, const uint purpose,
                    const uint width, global uint *found, global double *bounds, global double *numbers)
{
#if CLGEOM_SERIAL
    const uint share = (count + get_global_size(0) - 1) / get_global_size(0);
    const uint begin = min((uint)get_global_id(0) * share, count), end = min(begin + share, count), stride = 1;
#else
    const uint begin = get_global_id(0), end = count, stride = get_global_size(0);
#endif
    for (uint job = begin; job < end; job += stride) {
        const uint size = jobs[4 * job + 1], first = jobs[4 * job + 2], last = jobs[4 * job + 3];
        const polygon_t polygon = {corners + 2 * (size_t)jobs[4 * job], size};
        int inside = 1;
        const int whole = last - first == size;
        if (whole)                                 // the host looks at polygons of several jobs
            for (uint k = 0; k < 2 * size; ++k)
                inside &= COORD_IN_RANGE(polygon.xy[k]);
        caliper_t best = {0, 0, 0, 0, -INFINITY, INFINITY};
        global double *own = numbers + (size_t)job * width;
        int sure = inside, known;
        if (purpose == CIRCLE) {
            support_t support = {0, 0, 0};
            sure = sure && item_circle(polygon, &support);
            known = sure && circle_numbers(polygon, support, own);
            best.edge = support.i;
            best.across = support.j;
            best.along = support.k;
        } else {
            sure = sure && item_calipers(polygon, purpose, first, last, &best);
            known = sure && whole && item_numbers(polygon, purpose, best, own);
        }
        found[4 * job] = best.edge | (sure ? 0 : UNSURE_BEST) | (known ? 0 : UNSURE_NUMBERS);
        found[4 * job + 1] = best.across;
        found[4 * job + 2] = best.along;
        found[4 * job + 3] = best.back;
        bounds[2 * job] = best.low;
        bounds[2 * job + 1] = best.high;
    }
}
