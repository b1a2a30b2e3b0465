<%page args="value='uint', state='uint', combine='a + b', neutral='0', variant='group', wg_size=256, items_per_thread=8"/>\
// scan_totals: the combination of each tile of values (first launch of reduce-then-scan).
//
//   values   | run 0: 8 values | run 1 | .. | run 255 |   a tile of 2048; a work-item combines runs in order,
//   totals   [ tile 0 | tile 1 | .. ]                     the tile's run totals are scanned as in scan_tiles
//
// Combines in the order of scan_tiles, for every work-group shape, so that float sums are unique.
// Reads n values, writes n / 2048 totals.
#include "portable.h"
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "group/share.h"
typedef ${value} value_t;
typedef ${state} state_t;
#define WG_SIZE ${wg_size}
#define NEUTRAL ((state_t)(${neutral}))
inline state_t combine(state_t a, state_t b) { return ${combine}; }
#include "group/scan_tile.h"

// Totals of the runs of the tile that begins with value `first`.
inline void total_runs(global const value_t *values, ulong first, ulong n, SCAN_MEMORY state_t *runs, uint lid)
{
    for (uint lane = lid; lane < LANES; lane += WG_SIZE) {
        state_t sum = NEUTRAL;
        const ulong begin = first + lane * RUN, end = min(begin + RUN, n);
        for (ulong i = begin; i < end; ++i)
            sum = combine(sum, values[i]);
        runs[lane] = sum;
    }
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void scan_totals(global const value_t *values, const ulong start, const ulong n, const ulong first_tile,
                 global state_t *totals)
{
    SCAN_MEMORY state_t runs[2 * LANES];
    const uint lid = get_local_id(0);
    const ulong tiles = (n + TILE - 1) / TILE;
    EACH_OF(ulong, tile, tiles, get_group_id(0), get_num_groups(0)) {
        total_runs(values + start, tile * TILE, n, runs, lid);
        const uint at = scan_runs(runs, LANES, lid);
        if (lid == 0)
            totals[first_tile + tile] = runs[at + LANES - 1];
        GROUP_BARRIER();
    }
}
