// group/scan_tile.h: the shape of a scan's tile and the scan of its run totals, in one order for every work-group shape.
// The includer has WG_SIZE, state_t and combine(). With WG_SIZE 1 one work-item plays all lanes, without barriers.
#include "group/scan.h"
#define LANES 256
#define RUN 8
#define TILE (LANES * RUN)

#if WG_SIZE == 1
#define SCAN_MEMORY private
#else
#define SCAN_MEMORY local
#endif

GROUP_SCAN(scan_runs, SCAN_MEMORY, state_t, combine)
