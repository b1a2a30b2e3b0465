// arc/arc_before.h: exclusive sums over the work-items of a group. The includer has WG_SIZE, and may define ARC_SUM, the
// type of a sum: uint, or what holds several numbers side by side.
#include "group/scan.h"
#ifndef ARC_SUM
#define ARC_SUM uint
#endif
GROUP_SCAN(group_sums, local, ARC_SUM, GROUP_SUM)

// The sum of the values of the work-items before; in `all` that of all. values has 2 * WG_SIZE numbers. All work-items of
// the group call it, with a barrier between one call and the next.
inline ARC_SUM group_before(ARC_SUM value, uint lid, local ARC_SUM *values, ARC_SUM *all)
{
    values[lid] = value;
    const uint from = group_sums(values, WG_SIZE, lid);
    *all = values[from + WG_SIZE - 1];
    return values[from + lid] - value;
}
