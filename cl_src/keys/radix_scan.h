// keys/radix_scan.h: inclusive scan of `count` sums in local memory by a whole group. The includer has WG_SIZE.

// cells[0 .. count) are the values; cells has room for 2 * count (Kogge and Stone: entry k takes in entry k - reach,
// reach doubling, from one half of cells to the other). Returns where the result starts. Holds barriers, before the
// first read and after the last write too: all work-items call it.
inline uint group_scan_inclusive(local uint *cells, uint count, uint lid)
{
    uint from = 0;
    for (uint reach = 1; reach < count; reach *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = lid; k < count; k += WG_SIZE)
            cells[count - from + k] = cells[from + k] + (k >= reach ? cells[from + k - reach] : 0);
        from = count - from;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return from;
}
