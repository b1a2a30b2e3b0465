// Work-items of align_pairs that share pairs: a team of them takes strips side by side, each a step behind the one above.
//
// A value of another work-item of the group comes by an instruction of NVIDIA's GPUs, whose groups are then one warp, or
// through local memory; all work-items of the group ask together. What the last of a team writes to `top` is computed from
// what the first has read there.
#if TEAM > 1 && CELL_KIND == PTX_CELLS
#define MEMBERS (WG_SIZE < 32 ? (1u << WG_SIZE % 32) - 1 : 0xffffffffu)
inline uint taken(local uint *exchange, const uint value, const uint from)
{
    uint found;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, %3;" : "=r"(found) : "r"(value), "r"(from), "r"(MEMBERS));
    return found;
}
// What the others have written is there.
inline void meet(void)
{
    asm volatile("bar.warp.sync %0;" : : "r"(MEMBERS) : "memory");
}
#elif TEAM > 1
inline uint taken(local uint *exchange, const uint value, const uint from)
{
    exchange[get_local_id(0)] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint found = exchange[from];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);    // nor is what was read of a row above written before
    return found;
}
inline void meet(void)
{
    barrier(CLK_GLOBAL_MEM_FENCE);
}
#endif

#if TEAM > 1
inline int most_of_group(local uint *exchange, int value)
{
    for (uint k = 1; k < WG_SIZE; k *= 2)
        value = max(value, (int)taken(exchange, value, get_local_id(0) ^ k));
    return value;
}

// The best end of the team's, and the greatest cell.
STEP void join_team(local uint *exchange, end_t *end, cells_t *best)
{
    for (uint k = 1; k < TEAM; k *= 2) {
        const uint other = get_local_id(0) ^ k;
#if LOCAL && !ENDS
        *best = MAX(*best, CELLS(taken(exchange, WORD(*best), other)));
#else
        #pragma unroll
        for (int l = 0; l < LANES; ++l) {
            const int score = taken(exchange, end[l].score, other), row = taken(exchange, end[l].row, other);
            const int column = taken(exchange, end[l].column, other);
            if (score > end[l].score || (score == end[l].score && row < end[l].row)) {
                end[l].score = score;
                end[l].row = row;
                end[l].column = column;
            }
        }
#endif
    }
}
#endif
