<%page args="real='float', ragged=False, by_width=False, variant='group', wg_size=64, items_per_thread=1"/>\
// arc_cuts: the first point of each segment, which is the first of a column of equal x; a work-item to a cut.
//
//   points  | region 0: x0 x0 x1 x2 x2 x2 .. | region 1: ..            ascending x in a region
//   cuts    [ region 0: segment 0 | 1 | .. | region 1: .. | number of points ]
//
% if by_width:
// Segment k of a region begins with the first point whose distance from the first x is at least k / segments of the
// whole width. Distances are rounded, then compared exactly, so that the cuts of m segments are among those of 2 m, 3 m ..
% else:
// Segment k of a region of n points begins with the column of point floor(k n / segments).
% endif
// Reads O(1) points a cut, O(log n) where a cut is within a column or widths are equal.
#define REAL ${real}
#include "geometry/points.h"
#include "arc/arc_segments.h"
#include "arc/arc_cut.h"
#define X(i) points[2 * (size_t)(i)]
% if by_width and real == "int":
#define DISTANCE(x) (ulong)((long)(x) - X(first))
#define REACHES(d) ((d) * segments >= k * width)
% elif by_width:
<%
    large, down, small, up = (
        ("0x1p+64f", "0x1p-66f", "0x1p-60f", "0x1p+60f") if real == "float"
        else ("0x1p+900", "0x1p-902", "0x1p-500", "0x1p+500")
    )
%>\
#define DISTANCE(x) ((x) * scale - origin)
#define REACHES(d) reaches(d, (real_t)segments, width, (real_t)k)

// Whether a * b >= c * d.
inline int reaches(real_t a, real_t b, real_t c, real_t d)
{
    const real_t left = a * b, right = c * d;
    return left != right ? left > right : fma(a, b, -left) >= fma(c, d, -right);
}
% endif

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void arc_cuts(global const real_t *points, const uint n, global const uint *starts, const uint regions,
              const uint segments, global uint *cuts, global uint *flag, global uint *pending)
{
    const uint all = regions * segments;
    if (get_global_id(0) == 0)
        flag[0] = pending[0] = 0;                            // for the launches that follow
    const share_t share = item_share((ulong)all + 1, ${int(variant == "serial")});
    for (ulong j = share.begin; j < share.end; j += share.stride) {
        const uint i = (uint)j;
% if ragged:
        const uint region = i / segments, first = starts[region], last = max(starts[min(region + 1, regions)], first);
        const uint k = i - region * segments;
% else:
        const uint first = 0, last = n, k = i;
% endif
        if (i == all) {
            cuts[i] = last;
            continue;
        }
% if by_width:
        uint lo = first, hi = last;                          // the cut is one of these
        if (lo < hi && k > 0) {
% if real == "int":
            const ulong width = DISTANCE(X(last - 1));
% else:
            const real_t most = fmax(fabs(X(first)), fabs(X(last - 1)));
            const real_t scale = most > ${large} ? ${down} : most < ${small} ? ${up} : 1;
            const real_t origin = X(first) * scale, width = DISTANCE(X(last - 1));
% endif
            while (lo < hi) {
                const uint mid = lo + (hi - lo) / 2;
                if (REACHES(DISTANCE(X(mid))))
                    hi = mid;
                else
                    lo = mid + 1;
            }
        }
        cuts[i] = lo;
% else:
        cuts[i] = arc_cut(points, first, last, segments, k);
% endif
    }
}
