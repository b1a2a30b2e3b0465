// arc/arc_before.h: exclusive sums over the work-items of a group. The includer has WG_SIZE, and may define ARC_SUM, the
// type of a sum: uint, or a type that packs several numbers.
//
// Kogge and Stone: sums of 1, 2, 4 .. values, from one half of `values` to the other. group/scan.h does the same for any
// count; here the value of a work-item stays in a register. H200, 16M float32 points in 4M segments: arc_outline_local
// 277 us instead of 290, arc_tile_offsets 7.4 instead of 9.1.
#ifndef ARC_SUM
#define ARC_SUM uint
#endif

// Returns the sum of the values of the work-items before this one; `all` becomes the sum of all. `values` has 2 * WG_SIZE
// entries. All work-items of the group call it, with a barrier between calls.
inline ARC_SUM group_before(ARC_SUM value, uint lid, local ARC_SUM *values, ARC_SUM *all)
{
    ARC_SUM sum = value;
    uint from = 0;
    values[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint reach = 1; reach < WG_SIZE; reach *= 2) {
        sum += lid >= reach ? values[from + lid - reach] : 0;
        from = WG_SIZE - from;
        values[from + lid] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    *all = values[from + WG_SIZE - 1];
    return sum - value;
}
