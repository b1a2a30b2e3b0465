// keys/digit_match.h: the rank of each key among the equal digits of its team, in input order, by a digit match: each
// lane finds the lanes of its team that hold the same digit. A team is LANES work-items that hold neighbouring keys.
//
// The includer has WG_SIZE, LANES, RADIX_BITS, RADIX, and one of CLGEOM_MATCH_local (OpenCL C 1.2), CLGEOM_MATCH_ballot
// (NVIDIA, PTX votes), CLGEOM_MATCH_match (NVIDIA from sm_70, PTX match).
//
//   digits of the team   7 3 7 7 0 3 ..      digit match of lane 3: lanes 0, 2, 3 -> 1101b
//   rank                 0 0 1 2 0 1 ..      = digits counted before + lower lanes of the match
//
// team_rank(digit, counts, masks, lane): counts[RADIX] are the team's digits so far, or where the next of each goes, and
// are raised by the highest lane of the match; masks[RADIX] is the team's scratch memory of the local version, 0 before and after.
// Every work-item of the group calls it equally often.

#if defined(CLGEOM_MATCH_local)

#define CLGEOM_MATCH_MASKS 1      // needs the memory `masks`

inline uint team_rank(uint digit, volatile local uint *counts, volatile local uint *masks, uint lane)
{
    atomic_or(&masks[digit], 1u << lane);   // the mask does not depend on the order of lanes
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint match = masks[digit], before = counts[digit];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (match >> lane == 1u) {
        counts[digit] = before + popcount(match);
        masks[digit] = 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return before + popcount(match & ((1u << lane) - 1u));
}

#else  // a team is a warp: no barriers, its lanes vote

#define CLGEOM_MATCH_MASKS 0

inline void team_sync(void) { asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }

// Inclusive scan of a value of each lane.
inline uint team_scan(uint sum, uint lane)
{
#pragma unroll
    for (uint reach = 1; reach < LANES; reach *= 2) {
        uint before;
        asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;" : "=r"(before) : "r"(sum), "r"(reach));
        if (lane >= reach)
            sum += before;
    }
    return sum;
}

inline uint team_match(uint digit)
{
    uint match;
#if defined(CLGEOM_MATCH_match)
    asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(match) : "r"(digit));
#else
    match = 0xffffffffu;
#pragma unroll
    for (uint bit = 0; bit < RADIX_BITS; ++bit)      // keep the lanes whose bit is as mine
        asm volatile("{\n"
                     ".reg .pred mine; .reg .b32 votes;\n"
                     "and.b32 votes, %1, %2;\n"
                     "setp.ne.u32 mine, votes, 0;\n"
                     "vote.sync.ballot.b32 votes, mine, 0xffffffff;\n"
                     "@!mine not.b32 votes, votes;\n"
                     "and.b32 %0, %0, votes;\n"
                     "}"
                     : "+r"(match) : "r"(digit), "r"(1u << bit));
#endif
    return match;
}

inline uint team_rank(uint digit, volatile local uint *counts, volatile local uint *masks, uint lane)
{
    const uint match = team_match(digit), before = counts[digit];
    team_sync();
    if (match >> lane == 1u)
        counts[digit] = before + popcount(match);
    team_sync();
    return before + popcount(match & ((1u << lane) - 1u));
}

#endif
