// keys/shell_count.h: keys read from and written to global memory, counted in instrumented builds only.
//
// The includer has code_t, and COUNTING 0 or 1. At 0 the functions are the bare accesses, and nothing is counted.
typedef struct { ulong reads, writes; } traffic_t;

inline code_t code_read(global const code_t *codes, const ulong at, traffic_t *traffic)
{
#if COUNTING
    ++traffic->reads;
#endif
    return codes[at];
}

inline void code_write(global code_t *codes, const ulong at, const code_t code, traffic_t *traffic)
{
#if COUNTING
    ++traffic->writes;
#endif
    codes[at] = code;
}

// counts: three sums for each group of a phase, added to at every launch: reads, writes, passes. Groups of several
// work-items first add up in local memory. All work-items of the group call this. Sums have 64 bits: insertion in one
// h-subsequence of 100,000 keys may write 5e9 times.
#if COUNTING
#if WG_SIZE == 1
inline void count_group(global ulong *counts, const ulong group, const traffic_t traffic, const uint passes)
{
    counts[3 * group] += traffic.reads;
    counts[3 * group + 1] += traffic.writes;
    counts[3 * group + 2] += passes;
}
#define COUNT_GROUP(counts, group, traffic, passes) count_group(counts, group, traffic, passes)
#else
// sum: the low and the high word of a sum, because OpenCL C 1.2 has no 64-bit atomics. The work-item that makes the low word
// wrap around adds the carry.
inline void wide_add(volatile local uint *sum, const ulong amount)
{
    const uint low = (uint)amount, before = atomic_add(&sum[0], low);
    atomic_add(&sum[1], (uint)(amount >> 32) + (before + low < low));
}

inline void count_group(global ulong *counts, const ulong group, const traffic_t traffic, const uint passes,
                        volatile local uint *sums)
{
    const uint lid = get_local_id(0);
    if (lid == 0)
        sums[0] = sums[1] = sums[2] = sums[3] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    wide_add(sums, traffic.reads);
    wide_add(sums + 2, traffic.writes);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) {
        counts[3 * group] += upsample(sums[1], sums[0]);
        counts[3 * group + 1] += upsample(sums[3], sums[2]);
        counts[3 * group + 2] += passes;
    }
}
#define COUNT_GROUP(counts, group, traffic, passes) \
    volatile local uint local_sums[4];              \
    count_group(counts, group, traffic, passes, local_sums)
#endif
#else
#define COUNT_GROUP(counts, group, traffic, passes)
#endif
