<%page args="value='uint', state='uint', combine='a + b', neutral='0', exclusive=True, variant='group', wg_size=256, items_per_thread=8"/>\
// scan_tiles: the scan of each tile, begun with the combination of all tiles before (last launch of reduce-then-scan).
//
//   values   | run 0: 8 values | run 1 | .. | run 255 |   a tile of 2048, read through local memory on GPUs
//   before   [ tile 0 | tile 1 | .. ]                     exclusive scan of the tiles' totals
//   out      | before[tile] + runs before + values before in the run (+ own value when inclusive) |
//
// out may be values itself. Reads n values, writes n results.
#include "portable.h"
typedef ${value} value_t;
typedef ${state} state_t;
#define WG_SIZE ${wg_size}
#define NEUTRAL ((state_t)(${neutral}))
inline state_t combine(state_t a, state_t b) { return ${combine}; }
#include "group/scan_tile.h"
#define PADDED(i) ((i) + ((i) >> 5))   // keeps lanes that are RUN apart in different banks

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void scan_tiles(global const value_t *values, const ulong start, const ulong n, const ulong first_tile, global const state_t *before,
                global state_t *out)
{
    const uint lid = get_local_id(0);
    const ulong tiles = (n + TILE - 1) / TILE;
    values += start;
    SCAN_MEMORY state_t runs[2 * LANES];
% if variant == "serial":
    const ulong share = (tiles + get_num_groups(0) - 1) / get_num_groups(0);
    const ulong begin = min(get_group_id(0) * share, tiles), end = min(begin + share, tiles), stride = 1;
#define AT(i) values[tile * TILE + (i)]
#define STORE(i, v) out[tile * TILE + (i)] = (v)
% else:
    const ulong begin = get_group_id(0), end = tiles, stride = get_num_groups(0);
    local state_t cells[PADDED(TILE)];
#define AT(i) cells[PADDED(i)]
#define STORE(i, v) cells[PADDED(i)] = (v)
% endif
    for (ulong tile = begin; tile < end; tile += stride) {
        const uint count = (uint)min(n - tile * TILE, (ulong)TILE);
% if variant != "serial":
        for (uint i = lid; i < count; i += WG_SIZE)
            cells[PADDED(i)] = values[tile * TILE + i];
        GROUP_BARRIER();
% endif
        for (uint lane = lid; lane < LANES; lane += WG_SIZE) {
            state_t sum = NEUTRAL;
            for (uint i = min(lane * RUN, count); i < min((lane + 1) * RUN, count); ++i)
                sum = combine(sum, AT(i));
            runs[lane] = sum;
        }
        const uint at = scan_runs(runs, LANES, lid);
        const state_t tile_before = before[first_tile + tile];
        for (uint lane = lid; lane < LANES; lane += WG_SIZE) {
            const state_t lane_before = lane ? combine(tile_before, runs[at + lane - 1]) : tile_before;
            state_t sum = NEUTRAL;
            for (uint i = min(lane * RUN, count); i < min((lane + 1) * RUN, count); ++i) {
                const state_t value = AT(i);
% if exclusive:
                STORE(i, combine(lane_before, sum));
                sum = combine(sum, value);
% else:
                sum = combine(sum, value);
                STORE(i, combine(lane_before, sum));
% endif
            }
        }
        GROUP_BARRIER();
% if variant != "serial":
        for (uint i = lid; i < count; i += WG_SIZE)
            out[tile * TILE + i] = cells[PADDED(i)];
        GROUP_BARRIER();
% endif
    }
}
