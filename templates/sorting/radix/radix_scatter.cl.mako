<%page args="key_bits=32, key_float=0, load='keys', store='same', stored_bits=32, payload='', payload_bits=32, payload_out_bits=32, digit_match='local', radix_bits=8, variant='group', wg_size=256, items_per_thread=16"/>\
// radix_scatter: moves every key and its payload to its index by one digit; equal digits keep their order (third launch of
// a radix pass).
//
//   keys    | share of group 0: tile, tile .. | share of group 1 | .. |
//   counts  [ digit 0: group 0, group 1 .. | digit 1: .. ]   as radix_spine leaves them
//   out     | all keys of digit 0: group 0, group 1 .. | all of digit 1: .. |
//
// A tile is ordered by digit in local memory first (keys/radix_tile.h), so that the writes of a digit are neighbours.
//
// load    keys: unchanged keys; ordered: ordered keys stored by an earlier pass
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
#include "keys/radix_tile.h"
% if payload:
typedef bits${payload_bits}_t payload_t;
typedef bits${payload_out_bits}_t payload_out_t;
typedef ${"payload_t" if payload == "carry" else "uint"} held_t;   // a payload in local memory
% endif

// One piece of local memory, first for the teams' counts (and masks), then for the tile's keys, then for its payloads.
#define ARENA_COUNTS (TEAMS * RADIX * (CLGEOM_MATCH_MASKS ? 8 : 4))
#define ARENA_KEYS (TILE * ${max(key_bits, payload_bits if payload == "carry" else 32 if payload else 0) // 8})
#define ARENA_BYTES (ARENA_COUNTS > ARENA_KEYS ? ARENA_COUNTS : ARENA_KEYS)

// next[d]: the destination of the group's first key of digit d.
inline void first_indices(local uint *next, local uint *cells, global const uint *counts, global const uint *totals,
                          uint lid)
{
    for (uint d = lid; d < RADIX; d += WG_SIZE)
        cells[d] = totals[d];
    const uint at = group_scan_sums(cells, RADIX, lid);
    for (uint d = lid; d < RADIX; d += WG_SIZE)
        next[d] = (d ? cells[at + d - 1] : 0) + counts[d * get_num_groups(0) + get_group_id(0)];
}

// to[k]: the destination of item k * WG_SIZE + lid of the ordered tile.
inline void scatter_keys(local const key_t *tile_keys, uint count, key_t flip, uint shift, uint mask,
                         local const uint *from_tile, uint *to, uint lid\
% if store != "none":
, uint drop, global stored_t *keys_out\
% endif
)
{
    EACH_ITEM(k) {
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
// Payloads move as their keys do: to index[k] in local memory, then to to[k].
inline void scatter_payload(${"global const payload_t *payload" if payload == "carry" else "uint base"}, uint count,
                            const uint *index, const uint *to, local held_t *tile_payload,
                            global payload_out_t *out, uint lid)
{
    EACH_ITEM(k) {
        const uint i = item_index(lid, k);
        tile_payload[index[k]] = ${"i < count ? payload[i] : (payload_t)0" if payload == "carry" else "base + i"};
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    EACH_ITEM(k) {
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
