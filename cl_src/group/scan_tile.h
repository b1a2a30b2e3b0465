// group/scan_tile.h: the shape of a scan's tile and the scan of its run totals, in one order for every work-group shape.
// The includer has WG_SIZE, state_t and combine(). With WG_SIZE 1 one work-item plays all lanes, without barriers.
#define LANES 256
#define RUN 8
#define TILE (LANES * RUN)

#if WG_SIZE == 1
#define SCAN_MEMORY private
#define SCAN_BARRIER()
#else
#define SCAN_MEMORY local
#define SCAN_BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#endif

// Inclusive scan of runs[0 .. LANES) (Kogge and Stone: lane k takes in lane k - reach, reach doubling), flipping
// between the two halves of runs. Returns where the result starts. Calls barriers: all work-items must call it.
inline uint scan_runs(SCAN_MEMORY state_t *runs, uint lid)
{
    uint from = 0;
    for (uint reach = 1; reach < LANES; reach *= 2) {
        SCAN_BARRIER();
        for (uint lane = lid; lane < LANES; lane += WG_SIZE)
            runs[LANES - from + lane] =
                lane < reach ? runs[from + lane] : combine(runs[from + lane - reach], runs[from + lane]);
        from = LANES - from;
    }
    SCAN_BARRIER();
    return from;
}
