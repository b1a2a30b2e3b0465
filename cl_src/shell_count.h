// shell_count.h: keys read from and written to global memory, counted in instrumented builds only.
//
// The includer has code_t, and COUNTING 0 or 1. At 0 the functions are the bare accesses, and nothing is counted.
typedef struct { uint reads, writes; } traffic_t;

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

// counts: three words for each group of each phase, added to at every launch: reads, writes, passes. Groups of several
// work-items first add up in local memory. All work-items of the group call this.
#if COUNTING
#if WG_SIZE == 1
inline void count_group(global uint *counts, const ulong slot, const traffic_t traffic, const uint passes)
{
    counts[3 * slot] += traffic.reads;
    counts[3 * slot + 1] += traffic.writes;
    counts[3 * slot + 2] += passes;
}
#define COUNT_GROUP(counts, slot, traffic, passes) count_group(counts, slot, traffic, passes)
#else
inline void count_group(global uint *counts, const ulong slot, const traffic_t traffic, const uint passes,
                        local uint *sums)
{
    const uint lid = get_local_id(0);
    if (lid == 0)
        sums[0] = sums[1] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&sums[0], traffic.reads);
    atomic_add(&sums[1], traffic.writes);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) {
        counts[3 * slot] += sums[0];
        counts[3 * slot + 1] += sums[1];
        counts[3 * slot + 2] += passes;
    }
}
#define COUNT_GROUP(counts, slot, traffic, passes) \
    local uint local_sums[2];                      \
    count_group(counts, slot, traffic, passes, local_sums)
#endif
#else
#define COUNT_GROUP(counts, slot, traffic, passes)
#endif
