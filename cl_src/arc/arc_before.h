// arc/arc_before.h: sums over the work-items of a group. The includer has WG_SIZE.
#define ARC_CHUNK 16
#define ARC_CHUNKS ((WG_SIZE + ARC_CHUNK - 1) / ARC_CHUNK)

// The sum of the values of the work-items before; in `all` that of all. Called by all of the group, with a barrier between
// one call and the next.
inline uint group_before(uint value, uint lid, local uint *values, local uint *sums, uint *all)
{
    values[lid] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint c = lid; c < ARC_CHUNKS; c += WG_SIZE) {
        uint sum = 0;
        for (uint k = c * ARC_CHUNK; k < min((c + 1) * ARC_CHUNK, (uint)WG_SIZE); ++k)
            sum += values[k];
        sums[c] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint mine = lid / ARC_CHUNK;
    uint before = 0, sum = 0;
    for (uint c = 0; c < ARC_CHUNKS; ++c) {
        before += c < mine ? sums[c] : 0;
        sum += sums[c];
    }
    for (uint k = mine * ARC_CHUNK; k < lid; ++k)
        before += values[k];
    *all = sum;
    return before;
}

// The same by sums of 1, 2, 4 .. values, from one half of 2 * WG_SIZE to the other and back: more barriers, but fewer
// instructions. Of ARC_SUM, which may be several numbers side by side.
#ifndef ARC_SUM
#define ARC_SUM uint
#endif
inline ARC_SUM group_before_doubled(ARC_SUM value, uint lid, local ARC_SUM *values, ARC_SUM *all)
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
