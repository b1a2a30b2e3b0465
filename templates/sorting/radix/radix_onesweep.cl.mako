<%page args="key_bits=32, key_float=0, load='keys', store='same', stored_bits=32, payload='', payload_bits=32, payload_out_bits=32, digit_match='local', radix_bits=8, looks=256, silent=0, variant='group', wg_size=256, items_per_thread=16"/>\
// radix_onesweep: a radix pass in one launch: every key, and its payload, to its index by one digit; equal digits stay in
// order.
//
//   keys    | tile 0 | tile 1 | .. |        a group each; a tile's number is that of the group that begins as the next
//   chain   [ a number for each pass | counts of all digits for each pass | words of the tiles, twice ]
//   out     | all keys of digit 0: tile 0, tile 1 .. | all of digit 1: .. |
//
// radix_digits counted all digits, and keys/radix_chain.h finds how many are in the tiles before.
// Passes use the halves of the words in turn, and clear the other half for the next pass.
//
// load, store, payload: as in radix_scatter. Reads n keys and payloads, writes as many.
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

#define CHAIN_LOOKS ${looks}
#define CHAIN_SILENT ${silent}
#include "keys/radix_chain.h"

inline uint take_number(volatile global uint *next, local uint *taken, uint lid)
{
    if (lid == 0)
        *taken = atomic_inc(next);
    barrier(CLK_LOCAL_MEM_FENCE);
    return *taken;
}

// Told before the tile is ordered, since others wait for it. Items beyond the end count in none.
inline void tell_totals(local const uint *totals, volatile global uint *words, uint tile, uint mask, uint beyond, uint lid)
{
    if (tile)
        for (uint d = lid; d < RADIX; d += WG_SIZE)
            chain_store(words, tile, d, CHAIN_TOTAL | (totals[d] - (d == mask ? beyond : 0)));
}

// from_tile[d]: what to add to an index in the tile for that in the output.
inline void find_indices(global const key_t *keys, key_t flip, uint shift, uint mask, global const uint *of_digits,
                         volatile global uint *words, uint tile, uint beyond, local const uint *starts, local uint *cells,
                         local uint *from_tile, local uint *late, uint lid)
{
    for (uint first = 0; first < RADIX; first += WG_SIZE) {
        const uint d = first + lid;
        const uint before = chain_before(keys, flip, shift, mask, of_digits, words, tile, min(d, RADIX - 1), d < RADIX,
                                         cells, late, lid);
        if (d < RADIX) {
            const uint own = (d + 1 < RADIX ? starts[d + 1] : TILE) - starts[d];
            chain_store(words, tile, d, CHAIN_PREFIX | (before + own - (d == mask ? beyond : 0)));
            from_tile[d] = before - starts[d];
        }
        barrier(CLK_LOCAL_MEM_FENCE);       // also: all have read *late before a digit of the next turn is looked up
    }
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void radix_onesweep(global const key_t *keys,
                    PAYLOAD_PARAMETER const uint n, const key_t flip, const uint shift, const uint mask, const uint drop,
                    global uint *chain, const uint pass, const uint passes, const uint cells_of_half
                    KEYS_OUT_PARAMETER(stored_t) PAYLOAD_OUT_PARAMETER)
{
    const uint lid = get_local_id(0);
    local ulong arena[(ARENA_BYTES + 7) / 8];
    volatile local uint *team_counts = (volatile local uint *)arena;
    volatile local uint *team_masks = team_counts + (CLGEOM_MATCH_MASKS ? TEAMS * RADIX : 0);
    local key_t *tile_keys = (local key_t *)arena;
    local uint starts[RADIX], from_tile[RADIX], cells[2 * RADIX], number, late;

    global const uint *of_digits = chain + passes + pass * RADIX;
    global uint *both = chain + passes * (RADIX + 1);
    volatile global uint *words = both + (pass & 1) * (ulong)cells_of_half;
    global uint *next_words = both + (~pass & 1) * (ulong)cells_of_half;

    if (lid == 0)
        late = 0;
    const uint tile = take_number(chain + pass, &number, lid), base = tile * TILE, count = min(n - base, (uint)TILE);
    key_t mine[ITEMS];
    uint index[ITEMS], to[ITEMS];
    load_keys(keys + base, count, flip, mine, lid);
    count_digits(mine, flip, shift, mask, team_counts, lid);
    total_digits(team_counts, cells, lid);
    tell_totals(cells, words, tile, mask, TILE - count, lid);
    start_digits(team_counts, cells, starts, lid);
    order_keys(mine, flip, shift, mask, team_counts, team_masks, index, tile_keys, lid);
    find_indices(keys, flip, shift, mask, of_digits, words, tile, TILE - count, starts, cells, from_tile, &late, lid);
    scatter_keys(tile_keys, count, flip, shift, mask, from_tile, to, drop,
                 KEYS_OUT, lid);
#if CLGEOM_PAYLOAD
    scatter_payload(PAYLOAD, base, count, index, to, (local held_t *)arena, payload_out,
                    lid);
#endif
    for (ulong k = tile * (ulong)WG_SIZE + lid; k < cells_of_half; k += get_global_size(0))
        next_words[k] = 0;
}
