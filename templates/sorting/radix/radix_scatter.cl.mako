<%page args="key_bits=32, key_float=0, load='keys', store='same', stored_bits=32, payload='', payload_bits=32, payload_out_bits=32, digit_match='local', radix_bits=8, variant='group', wg_size=256, items_per_thread=16"/>\
<%
    # Arrays of ITEMS stay in registers only where their loops are unrolled; with barriers inside that costs more.
    unroll = "" if digit_match == "local" else "#pragma unroll"
%>\
// radix_scatter: every key, and its payload, to its index by one digit; equal digits stay in order (third launch of a
// radix pass).
//
//   keys    | share of group 0: tile, tile .. | share of group 1 | .. |
//   counts  [ digit 0: group 0, group 1 .. | digit 1: .. ]   as radix_spine leaves them
//   out     | all keys of digit 0: group 0, group 1 .. | all of digit 1: .. |
//
// A tile is ordered by digit in local memory first, so that the writes of a digit are neighbours.
//   load_keys     a team of LANES work-items takes LANES * ITEMS keys in a row, item k of lane l is key k * LANES + l
//   rank_keys     the counts of every team and digit, and each key's rank within its own (keys/digit_match.h)
//   scan_digits   over (digit, team): where they begin in the tile
//   order_keys    keys to their indices in local memory
//   scatter_keys  from there to global memory in order; payloads likewise (scatter_payload)
//
// load    keys: as they came; ordered: ordered keys stored by an earlier pass
// store   same: as loaded; ordered: the ordered key from bit `drop` on, in stored_bits; keys: of the ordered keys; none
// payload '': none; index: the key's number; carry: moved with the key
// Reads n keys and payloads, writes as many.
#include "portable.h"
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"
#define CLGEOM_LOAD_ORDERED ${int(load == "ordered")}
#define CLGEOM_STORE CLGEOM_STORE_${store}
#define CLGEOM_STORED_BITS ${stored_bits}
#include "keys/radix_digit.h"
#define WG_SIZE ${wg_size}
#define ITEMS ${items_per_thread}
#define RADIX_BITS ${radix_bits}
#define RADIX (1u << RADIX_BITS)
#define LANES (WG_SIZE < 32 ? WG_SIZE : 32)
#define TEAMS (WG_SIZE / LANES)
#define TILE (WG_SIZE * ITEMS)
#define CLGEOM_MATCH_${digit_match} 1
#include "keys/digit_match.h"
#include "group/scan.h"
GROUP_SCAN(group_scan_sums, local, uint, GROUP_SUM)
% if payload:
typedef bits${payload_bits}_t payload_t;
typedef bits${payload_out_bits}_t payload_out_t;
typedef ${"payload_t" if payload == "carry" else "uint"} held_t;   // a payload in local memory
% endif

// One piece of local memory, first for the teams' counts (and masks), then for the tile's keys, then for its payloads.
#define ARENA_COUNTS (TEAMS * RADIX * (CLGEOM_MATCH_MASKS ? 8 : 4))
#define ARENA_KEYS (TILE * ${max(key_bits, payload_bits if payload == "carry" else 32 if payload else 0) // 8})
#define ARENA_BYTES (ARENA_COUNTS > ARENA_KEYS ? ARENA_COUNTS : ARENA_KEYS)

// Index in the tile, as it is loaded, of item k of a work-item.
inline uint item_index(uint lid, uint k) { return (lid / LANES * ITEMS + k) * LANES + lid % LANES; }

// next[d]: where the group's first key of digit d goes.
inline void first_indices(local uint *next, local uint *cells, global const uint *counts, global const uint *totals,
                          uint lid)
{
    for (uint d = lid; d < RADIX; d += WG_SIZE)
        cells[d] = totals[d];
    const uint at = group_scan_sums(cells, RADIX, lid);
    for (uint d = lid; d < RADIX; d += WG_SIZE)
        next[d] = (d ? cells[at + d - 1] : 0) + counts[d * get_num_groups(0) + get_group_id(0)];
}

inline void load_keys(global const key_t *keys, uint count, key_t *mine, uint lid)
{
    ${unroll}
    for (uint k = 0; k < ITEMS; ++k) {
        const uint i = item_index(lid, k);
        mine[k] = i < count ? keys[i] : (key_t)0;
    }
}

// index[k]: digit << 16 | rank of item k. Items beyond the end, all in the last tile, rank after every key: last of the
// last digit.
inline void rank_keys(const key_t *mine, uint count, key_t flip, uint shift, uint mask, volatile local uint *team_counts,
                      volatile local uint *team_masks, uint *index, uint lid)
{
    const uint team = lid / LANES, lane = lid % LANES;
    for (uint k = lid; k < TEAMS * RADIX * (1 + CLGEOM_MATCH_MASKS); k += WG_SIZE)
        team_counts[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    ${unroll}
    for (uint k = 0; k < ITEMS; ++k) {
        const uint digit = item_index(lid, k) < count ? radix_digit(mine[k], flip, shift, mask) : RADIX - 1;
        index[k] = digit << 16 | team_rank(digit, team_counts + team * RADIX, team_masks + team * RADIX, lane);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

// The teams' counts become where they begin in the tile. from_tile[d]: what to add to an index in the tile for that in
// the output; next[d] moves on by the tile's keys.
inline void scan_digits(volatile local uint *team_counts, local uint *cells, local uint *next, local uint *from_tile,
                        uint lid)
{
    for (uint d = lid; d < RADIX; d += WG_SIZE) {
        uint sum = 0;
        for (uint t = 0; t < TEAMS; ++t)
            sum += team_counts[t * RADIX + d];
        cells[d] = sum;
    }
    const uint at = group_scan_sums(cells, RADIX, lid);
    for (uint d = lid; d < RADIX; d += WG_SIZE) {
        const uint start = d ? cells[at + d - 1] : 0;
        uint sum = start;
        for (uint t = 0; t < TEAMS; ++t) {
            const uint of_team = team_counts[t * RADIX + d];
            team_counts[t * RADIX + d] = sum;
            sum += of_team;
        }
        from_tile[d] = next[d] - start;
        next[d] += sum - start;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

// index[k], digit << 16 | rank until now, becomes the index in the ordered tile. tile_keys may be the memory of the
// counts.
inline void order_keys(const key_t *mine, uint *index, volatile local const uint *team_counts, local key_t *tile_keys,
                       uint lid)
{
    ${unroll}
    for (uint k = 0; k < ITEMS; ++k)
        index[k] = (index[k] & 0xffff) + team_counts[lid / LANES * RADIX + (index[k] >> 16)];
    barrier(CLK_LOCAL_MEM_FENCE);
    ${unroll}
    for (uint k = 0; k < ITEMS; ++k)
        tile_keys[index[k]] = mine[k];
    barrier(CLK_LOCAL_MEM_FENCE);
}

// to[k]: where item k * WG_SIZE + lid of the ordered tile goes.
inline void scatter_keys(local const key_t *tile_keys, uint count, key_t flip, uint shift, uint mask,
                         local const uint *from_tile, uint *to, uint lid\
% if store != "none":
, uint drop, global stored_t *keys_out\
% endif
)
{
    ${unroll}
    for (uint k = 0; k < ITEMS; ++k) {
        const uint i = k * WG_SIZE + lid;
        const key_t bits = tile_keys[i];
        to[k] = from_tile[radix_digit(bits, flip, shift, mask)] + i;
% if store != "none":
        if (i < count)
            keys_out[to[k]] = stored(bits, flip, drop);
% endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

% if payload:
// Payloads take the way of their keys: index[k] in local memory, then to[k].
inline void scatter_payload(${"global const payload_t *payload" if payload == "carry" else "uint base"}, uint count,
                            const uint *index, const uint *to, local held_t *tile_payload,
                            global payload_out_t *out, uint lid)
{
    ${unroll}
    for (uint k = 0; k < ITEMS; ++k) {
        const uint i = item_index(lid, k);
        tile_payload[index[k]] = ${"i < count ? payload[i] : (payload_t)0" if payload == "carry" else "base + i"};
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    ${unroll}
    for (uint k = 0; k < ITEMS; ++k) {
        const uint i = k * WG_SIZE + lid;
        if (i < count)
            out[to[k]] = tile_payload[i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

% endif
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void radix_scatter(global const key_t *keys,
% if payload == "carry":
                   global const payload_t *payload,
% endif
                   const uint n, const uint share, const key_t flip, const uint shift, const uint mask,
                   const uint drop, global const uint *counts, global const uint *totals\
% if store != "none":
, global stored_t *keys_out\
% endif
% if payload:
, global payload_out_t *payload_out\
% endif
)
{
    const uint lid = get_local_id(0);
    const uint begin = min((ulong)get_group_id(0) * share, (ulong)n), end = begin + min(share, n - begin);
    local ulong arena[(ARENA_BYTES + 7) / 8];
    volatile local uint *team_counts = (volatile local uint *)arena;
    volatile local uint *team_masks = team_counts + (CLGEOM_MATCH_MASKS ? TEAMS * RADIX : 0);
    local key_t *tile_keys = (local key_t *)arena;
    local uint next[RADIX], from_tile[RADIX], cells[2 * RADIX];

    first_indices(next, cells, counts, totals, lid);
    for (uint base = begin; base < end; base += TILE) {
        const uint count = min(end - base, (uint)TILE);
        key_t mine[ITEMS];
        uint index[ITEMS], to[ITEMS];
        load_keys(keys + base, count, mine, lid);
        rank_keys(mine, count, flip, shift, mask, team_counts, team_masks, index, lid);
        scan_digits(team_counts, cells, next, from_tile, lid);
        order_keys(mine, index, team_counts, tile_keys, lid);
        scatter_keys(tile_keys, count, flip, shift, mask, from_tile, to, lid\
${"" if store == "none" else ", drop, keys_out"});
% if payload:
        scatter_payload(${"payload + base" if payload == "carry" else "base"}, count, index, to,
                        (local held_t *)arena, payload_out, lid);
% endif
    }
}
