// group/scan_tile.h: a scan's tile, in one order of combination for every work-group shape. The includer has WG_SIZE,
// value_t, state_t, NEUTRAL and combine().
//
//   tile     | run 0: RUN values | run 1 | .. | run LANES - 1 |      a work-item combines runs in order;
//   runs     [ total of run 0 | .. ]                                 the runs' totals are scanned as well
//
// With WG_SIZE 1 one work-item does the work of all lanes, without barriers.
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
