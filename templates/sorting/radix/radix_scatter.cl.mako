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
#define CLGEOM_STORES ${int(store != "none")}
#define CLGEOM_PAYLOAD CLGEOM_PAYLOAD_${payload or "none"}
#define CLGEOM_PAYLOAD_BITS ${payload_bits}
#define CLGEOM_PAYLOAD_OUT_BITS ${payload_out_bits}
#include "keys/payload.h"
#define WG_SIZE ${wg_size}
#define ITEMS ${items_per_thread}
#define RADIX_BITS ${radix_bits}
#define RADIX (1u << RADIX_BITS)
#define LANES (WG_SIZE < 32 ? WG_SIZE : 32)
#define TEAMS (WG_SIZE / LANES)
#define TILE (WG_SIZE * ITEMS)
#define CLGEOM_MATCH_${digit_match} 1
#include "keys/digit_match.h"
#include "keys/radix_tile.h"
#include "keys/radix_move.h"

// next[d]: the destination of the group's first key of digit d.
inline void first_indices(local uint *next, local uint *cells, global const uint *counts, global const uint *totals,
                          uint lid)
{
    for (uint d = lid; d < RADIX; d += WG_SIZE)
        cells[d] = totals[d];
    const uint at = scan_digits(cells, lid);
    for (uint d = lid; d < RADIX; d += WG_SIZE)
        next[d] = (d ? cells[at + d - 1] : 0) + counts[d * get_num_groups(0) + get_group_id(0)];
}

// from_tile[d]: what to add to an index in the tile for that in the output. next[d] moves on by the tile's keys.
inline void next_indices(local const uint *starts, local uint *next, local uint *from_tile, uint lid)
{
    for (uint d = lid; d < RADIX; d += WG_SIZE) {
        from_tile[d] = next[d] - starts[d];
        next[d] += (d + 1 < RADIX ? starts[d + 1] : TILE) - starts[d];
    }
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void radix_scatter(global const key_t *keys,
                   PAYLOAD_PARAMETER const uint n, const uint share, const key_t flip, const uint shift, const uint mask,
                   const uint drop, global const uint *counts, global const uint *totals
                   KEYS_OUT_PARAMETER(stored_t) PAYLOAD_OUT_PARAMETER)
{
    const uint lid = get_local_id(0);
    const uint begin = min((ulong)get_group_id(0) * share, (ulong)n), end = begin + min(share, n - begin);
    local ulong arena[(ARENA_BYTES + 7) / 8];
    volatile local uint *team_counts = (volatile local uint *)arena;
    volatile local uint *team_masks = team_counts + (CLGEOM_MATCH_MASKS ? TEAMS * RADIX : 0);
    local key_t *tile_keys = (local key_t *)arena;
    local uint next[RADIX], starts[RADIX], from_tile[RADIX], cells[2 * RADIX];

    first_indices(next, cells, counts, totals, lid);
    for (uint base = begin; base < end; base += TILE) {
        const uint count = min(end - base, (uint)TILE);
        key_t mine[ITEMS];
        uint index[ITEMS], to[ITEMS];
        load_keys(keys + base, count, flip, mine, lid);
        count_digits(mine, flip, shift, mask, team_counts, lid);
        total_digits(team_counts, cells, lid);
        start_digits(team_counts, cells, starts, lid);
        next_indices(starts, next, from_tile, lid);
        order_keys(mine, flip, shift, mask, team_counts, team_masks, index, tile_keys, lid);
        scatter_keys(tile_keys, count, flip, shift, mask, from_tile, to, drop,
                     KEYS_OUT, lid);
#if CLGEOM_PAYLOAD
        scatter_payload(PAYLOAD, base, count, index, to, (local held_t *)arena,
                        payload_out, lid);
#endif
    }
}
