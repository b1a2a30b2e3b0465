<%page args="value='uint', state='uint', combine='a + b', neutral='0', exclusive=True, variant='group', wg_size=256, items_per_thread=8"/>\
// scan_tiles: the scan of each tile, begun with the combination of all tiles before (last launch of reduce-then-scan).
//
//   values   | run 0: 8 values | run 1 | .. | run 255 |   a tile of 2048, read through local memory by groups
//   before   [ tile 0 | tile 1 | .. ]                     exclusive scan of the tiles' totals
//   out      | before[tile] + runs before + values before in the run (+ own value when inclusive) |
//
// out may be values itself. Reads n values, writes n results.
#include "portable.h"
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "group/share.h"
typedef ${value} value_t;
typedef ${state} state_t;
#define WG_SIZE ${wg_size}
#define NEUTRAL ((state_t)(${neutral}))
inline state_t combine(state_t a, state_t b) { return ${combine}; }
#include "group/scan_tile.h"
#if CLGEOM_SERIAL
// A tile in global memory.
#define TILE_MEMORY global
typedef value_t source_t;
#define CELL(i) (i)
#else
// A tile in local memory: in the type of results, with lanes that are RUN apart in different banks.
#define TILE_MEMORY local
typedef state_t source_t;
#define CELL(i) ((i) + ((i) >> 5))
#endif

inline void total_runs(TILE_MEMORY const source_t *tile, uint count, SCAN_MEMORY state_t *runs, uint lid)
{
    for (uint lane = lid; lane < LANES; lane += WG_SIZE) {
        state_t sum = NEUTRAL;
        for (uint i = min(lane * RUN, count); i < min((lane + 1) * RUN, count); ++i)
            sum = combine(sum, tile[CELL(i)]);
        runs[lane] = sum;
    }
}

// runs: scanned, inclusive. The result may be written over the tile.
inline void scan_values(TILE_MEMORY const source_t *tile, uint count, state_t tile_before,
                        SCAN_MEMORY const state_t *runs, TILE_MEMORY state_t *result, uint lid)
{
    for (uint lane = lid; lane < LANES; lane += WG_SIZE) {
        const state_t lane_before = lane ? combine(tile_before, runs[lane - 1]) : tile_before;
        state_t sum = NEUTRAL;
        for (uint i = min(lane * RUN, count); i < min((lane + 1) * RUN, count); ++i) {
            const state_t value = tile[CELL(i)], before = sum;
            sum = combine(sum, value);
            result[CELL(i)] = combine(lane_before, ${"before" if exclusive else "sum"});
        }
    }
    GROUP_BARRIER();
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void scan_tiles(global const value_t *values, const ulong start, const ulong n, const ulong first_tile,
                global const state_t *before, global state_t *out)
{
    SCAN_MEMORY state_t runs[2 * LANES];
    const uint lid = get_local_id(0);
    const ulong tiles = (n + TILE - 1) / TILE;
#if CLGEOM_SERIAL
    EACH_OF(ulong, tile, tiles, get_group_id(0), get_num_groups(0)) {
        const uint count = (uint)min(n - tile * TILE, (ulong)TILE);
        global const value_t *mine = values + start + tile * TILE;
        total_runs(mine, count, runs, lid);
        const uint at = scan_runs(runs, LANES, lid);
        scan_values(mine, count, before[first_tile + tile], runs + at, out + tile * TILE, lid);
    }
#else
    local state_t cells[CELL(TILE)];
    EACH_OF(ulong, tile, tiles, get_group_id(0), get_num_groups(0)) {
        const uint count = (uint)min(n - tile * TILE, (ulong)TILE);
        for (uint i = lid; i < count; i += WG_SIZE)
            cells[CELL(i)] = values[start + tile * TILE + i];
        GROUP_BARRIER();
        total_runs(cells, count, runs, lid);
        const uint at = scan_runs(runs, LANES, lid);
        scan_values(cells, count, before[first_tile + tile], runs + at, cells, lid);
        for (uint i = lid; i < count; i += WG_SIZE)
            out[tile * TILE + i] = cells[CELL(i)];
        GROUP_BARRIER();
    }
#endif
}
