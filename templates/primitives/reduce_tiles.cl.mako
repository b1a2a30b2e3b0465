<%page args="value='float', state='float', combine='a + b', neutral='0', map='value', arg=False, commutative=True, variant='group', wg_size=256, items_per_thread=16"/>\
// reduce_tiles: the combination of each tile of values. Launched again on its own results until one is left.
//
//   values     row 0:  | lane 0 | lane 1 | .. | lane 63 |     a tile of 4096 values, 64 rows of 64 lanes;
//              row 1:  | lane 0 | lane 1 | .. | lane 63 |     each lane combines its column from the top down,
//              ..                                             then neighbours combine: 0 with 1, 2 with 3 ..
//   partials   [ tile 0 | tile 1 | .. ]
//
// (An operator that does not commute has the tile transposed: lane k owns 64 values in a row.)
// This order is the same for every work-group shape and device, so a float sum has one answer.
// Reads n values, writes n / 4096 partials.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define LANES 64
#define ROWS 64
#define TILE (LANES * ROWS)
<% vec = 8 if value in ("float", "int", "uint") else 4 %>\
% if arg:
typedef struct { ${state} key; ulong index; } state_t;
inline int before(${state} a, ${state} b)   // a comes first; NaN, as in NumPy, before everything
{
% if state in ("float", "double"):
    if (isnan(a) || isnan(b))
        return isnan(a) && !isnan(b);
% endif
    return ${"a < b" if arg == "min" else "a > b"};
}
inline state_t combine(state_t a, state_t b)
{
    if (before(b.key, a.key))
        return b;
    return before(a.key, b.key) || a.index <= b.index ? a : b;
}
typedef ${value} value_t;
% if value == "state_t":
#define LOAD(i) values[i]
% else:
inline state_t load(${value} value, ulong index) { state_t s; s.key = value; s.index = index; return s; }
#define LOAD(i) load(values[i], start + (i))
% endif
% else:
typedef ${value} value_t;
typedef ${state} state_t;
inline state_t combine(state_t a, state_t b) { return ${combine}; }
inline state_t load(value_t value, ulong index) { return ${map}; }
#define LOAD(i) load(values[i], start + (i))
% endif
#define ELEMENT(row, lane) ${"(row) * LANES + (lane)" if commutative else "(lane) * ROWS + (row)"}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void reduce_tiles(global const value_t *values, const ulong n, const ulong start, const ulong first_tile,
                  global state_t *partials)
{
    const ulong tiles = (n + TILE - 1) / TILE;
% if variant == "serial":
    const ulong share = (tiles + get_num_groups(0) - 1) / get_num_groups(0);
    const ulong begin = min(get_group_id(0) * share, tiles), end = min(begin + share, tiles);
    state_t lanes[LANES];
    for (ulong tile = begin; tile < end; ++tile) {
        const ulong base = tile * TILE;
% if commutative and not arg and map == "value" and state == value and value in ("float", "double", "int", "uint", "long", "ulong"):
        if (base + TILE <= n) {
            // A whole tile: the lanes are registers, ${vec} to a vector.
% for half in range(0, 64, 8 * vec):
            {
% for j in range(8):
                ${state}${vec} v${j} = vload${vec}(0, values + base + ${half + j * vec});
% endfor
                for (uint row = 1; row < ROWS; ++row) {
                    global const value_t *at = values + base + row * LANES + ${half};
% for j in range(8):
                    { const ${state}${vec} a = v${j}, b = vload${vec}(0, at + ${j * vec}); v${j} = ${combine}; }
% endfor
                }
% for j in range(8):
                vstore${vec}(v${j}, 0, lanes + ${half + j * vec});
% endfor
            }
% endfor
        }
        else
% endif
        for (uint lane = 0; lane < LANES; ++lane) {
            ulong i = base + ELEMENT(0, lane);
            if (i >= n)
                continue;
            state_t sum = LOAD(i);
            for (uint row = 1; row < ROWS; ++row) {
                i = base + ELEMENT(row, lane);
                if (i < n)
                    sum = combine(sum, LOAD(i));
            }
            lanes[lane] = sum;
        }
        for (uint reach = 1; reach < LANES; reach *= 2)
            for (uint lane = 0; lane < LANES; lane += 2 * reach)
                if (base + ELEMENT(0, lane + reach) < n)
                    lanes[lane] = combine(lanes[lane], lanes[lane + reach]);
        partials[first_tile + tile] = lanes[0];
    }
% else:
#define TILES_AT_ONCE (WG_SIZE >= LANES ? WG_SIZE / LANES : 1)
#define ITEMS_PER_TILE (WG_SIZE >= LANES ? LANES : WG_SIZE)
    local state_t lanes[TILES_AT_ONCE * LANES];
    const uint mine = get_local_id(0) / ITEMS_PER_TILE, lid = get_local_id(0) % ITEMS_PER_TILE;
    local state_t *row_sums = lanes + mine * LANES;
    for (ulong first = get_group_id(0) * TILES_AT_ONCE; first < tiles; first += get_num_groups(0) * TILES_AT_ONCE) {
        const ulong tile = first + mine, base = tile * TILE;
        for (uint lane = lid; lane < LANES; lane += ITEMS_PER_TILE) {
            const ulong top = base + ELEMENT(0, lane);
            if (top < n) {
                state_t sum = LOAD(top);
                if (base + TILE <= n)
                    for (uint row = 1; row < ROWS; ++row)
                        sum = combine(sum, LOAD(base + ELEMENT(row, lane)));
                else
                    for (uint row = 1; row < ROWS; ++row)
                        if (base + ELEMENT(row, lane) < n)
                            sum = combine(sum, LOAD(base + ELEMENT(row, lane)));
                row_sums[lane] = sum;
            }
        }
        for (uint reach = 1; reach < LANES; reach *= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint lane = lid * 2 * reach; lane < LANES; lane += ITEMS_PER_TILE * 2 * reach)
                if (base + ELEMENT(0, lane + reach) < n)
                    row_sums[lane] = combine(row_sums[lane], row_sums[lane + reach]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid == 0 && tile < tiles)
            partials[first_tile + tile] = row_sums[0];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
% endif
}
