<%page args="key_bits=32, key_float=0, load='digits', store='same', stored_bits=32, payload='', payload_bits=32, payload_out_bits=32, peers='local', radix_bits=8, variant='group', wg_size=256, items_per_thread=16"/>\
<%
    unsigned = {8: "uchar", 16: "ushort", 32: "uint", 64: "ulong"}
    # Arrays of ITEMS stay in registers only where their loops are unrolled; with barriers inside that costs more.
    unroll = "" if peers == "local" else "#pragma unroll"
%>\
// radix_scatter: every key, and its payload, to its place by one digit; equal digits stay in order (third launch of a
// radix pass).
//
//   keys    | share of group 0: tile, tile .. | share of group 1 | .. |
//   counts  [ digit 0: group 0, group 1 .. | digit 1: .. ]   as radix_spine leaves them
//   out     | all keys of digit 0: group 0, group 1 .. | all of digit 1: .. |
//
// serial: a work-item walks its share with one running place a digit. Buffering whole cache lines a digit before they
// are written was slower here (PoCL on an EPYC, 1e7 keys: 29 ms plain, 48 buffered, 42 with non-temporal stores).
//
// group: a tile is ordered by digit in local memory first, so that the writes of a digit are neighbours.
//   1. a team of LANES work-items takes LANES * ITEMS keys in a row, item k of lane l is key k * LANES + l, and ranks
//      them by digit (keys/radix_peers.h): counts of every team and digit, and each key's rank within its own
//   2. scan over (digit, team): where they begin in the tile
//   3. keys to their places in local memory, from there to global memory in order; payloads likewise
//
// load    digits: keys as they came; plain: images stored by an earlier pass
// store   same: as loaded; image: the key_image above bit `drop`, in stored_bits; keys: the keys of plain images; none
// payload '': none; index: the key's number; carry: moved with the key
// Reads n keys and payloads, writes as many.
#include "portable.h"
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#define CLGEOM_PLAIN ${int(load == "plain")}
#include "keys/key_order.h"
#include "keys/radix_digit.h"
#define WG_SIZE ${wg_size}
#define ITEMS ${items_per_thread}
#define RADIX_BITS ${radix_bits}
#define RADIX (1u << RADIX_BITS)
typedef ${unsigned[stored_bits] if store == "image" else "key_t"} stored_t;
% if payload:
typedef ${unsigned[payload_bits]} payload_t;
typedef ${unsigned[payload_out_bits]} payload_out_t;
% endif

// What is written of a key.
inline stored_t stored(key_t bits, key_t flip, uint drop)
{
% if store == "image":
    return (stored_t)(key_image(bits, flip) >> drop);
% elif store == "keys":
    return key_of_digits(bits, flip);
% else:
    return bits;
% endif
}

% if variant != "serial":
#define LANES (WG_SIZE < 32 ? WG_SIZE : 32)
#define TEAMS (WG_SIZE / LANES)
#define TILE (WG_SIZE * ITEMS)
#define CLGEOM_PEERS_${peers} 1
#include "keys/radix_peers.h"
#include "group/scan.h"
GROUP_SCAN(group_scan_sums, local, uint, GROUP_SUM)

// One piece of local memory, first for the teams' counts (and masks), then for the tile's keys, then for its payloads.
#define ARENA_COUNTS (TEAMS * RADIX * (CLGEOM_PEER_MASKS ? 8 : 4))
#define ARENA_KEYS (TILE * ${max(key_bits, payload_bits if payload == "carry" else 32 if payload else 0) // 8})
#define ARENA_BYTES (ARENA_COUNTS > ARENA_KEYS ? ARENA_COUNTS : ARENA_KEYS)
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
    const uint group = get_group_id(0), groups = get_num_groups(0);
    const uint begin = min((ulong)group * share, (ulong)n), end = begin + min(share, n - begin);
% if variant == "serial":
    uint next[RADIX];
    for (uint d = 0, sum = 0; d < RADIX; ++d) {
        next[d] = sum + counts[d * groups + group];
        sum += totals[d];
    }
    for (uint i = begin; i < end; ++i) {
        const key_t bits = keys[i];
        const uint to = next[radix_digit(bits, flip, shift, mask)]++;
% if store != "none":
        keys_out[to] = stored(bits, flip, drop);
% endif
% if payload == "index":
        payload_out[to] = i;
% elif payload == "carry":
        payload_out[to] = payload[i];
% endif
    }
% else:
    const uint lid = get_local_id(0), team = lid / LANES, lane = lid % LANES;
    local ulong arena[(ARENA_BYTES + 7) / 8];
    volatile local uint *team_counts = (volatile local uint *)arena;
    volatile local uint *team_masks = team_counts + (CLGEOM_PEER_MASKS ? TEAMS * RADIX : 0);
    local key_t *tile_keys = (local key_t *)arena;
    local uint next[RADIX];          // where the group's next key of a digit goes
    local uint from_tile[RADIX];     // add to a place in the tile, by digit: the place in the output
    local uint cells[2 * RADIX];

    for (uint d = lid; d < RADIX; d += WG_SIZE)
        cells[d] = totals[d];
    uint at = group_scan_sums(cells, RADIX, lid);
    for (uint d = lid; d < RADIX; d += WG_SIZE)
        next[d] = (d ? cells[at + d - 1] : 0) + counts[d * groups + group];

    for (uint base = begin; base < end; base += TILE) {
        const uint count = min(end - base, (uint)TILE);
        key_t mine[ITEMS];
        uint place[ITEMS];           // digit << 16 | rank, then the place in the tile
        ${unroll}
        for (uint k = 0; k < ITEMS; ++k) {
            const uint slot = (team * ITEMS + k) * LANES + lane;
            mine[k] = slot < count ? keys[base + slot] : (key_t)0;
        }
        for (uint k = lid; k < TEAMS * RADIX * (1 + CLGEOM_PEER_MASKS); k += WG_SIZE)
            team_counts[k] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        ${unroll}
        for (uint k = 0; k < ITEMS; ++k) {
            // Slots beyond the end, all in the last tile, rank after every key: last of the last digit.
            const uint slot = (team * ITEMS + k) * LANES + lane;
            const uint digit = slot < count ? radix_digit(mine[k], flip, shift, mask) : RADIX - 1;
            place[k] = digit << 16 | team_rank(digit, team_counts + team * RADIX, team_masks + team * RADIX, lane);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint d = lid; d < RADIX; d += WG_SIZE) {
            uint sum = 0;
            for (uint t = 0; t < TEAMS; ++t)
                sum += team_counts[t * RADIX + d];
            cells[d] = sum;
        }
        at = group_scan_sums(cells, RADIX, lid);
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
        ${unroll}
        for (uint k = 0; k < ITEMS; ++k)
            place[k] = (place[k] & 0xffff) + team_counts[team * RADIX + (place[k] >> 16)];
        barrier(CLK_LOCAL_MEM_FENCE);
        ${unroll}
        for (uint k = 0; k < ITEMS; ++k)
            tile_keys[place[k]] = mine[k];
        barrier(CLK_LOCAL_MEM_FENCE);
        uint to[ITEMS];
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
% if payload:
<% held = "payload_t" if payload == "carry" else "uint" %>\
        local ${held} *tile_payload = (local ${held} *)arena;
        ${unroll}
        for (uint k = 0; k < ITEMS; ++k) {
            const uint slot = (team * ITEMS + k) * LANES + lane;
% if payload == "index":
            tile_payload[place[k]] = base + slot;
% else:
            tile_payload[place[k]] = slot < count ? payload[base + slot] : (payload_t)0;
% endif
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        ${unroll}
        for (uint k = 0; k < ITEMS; ++k) {
            const uint i = k * WG_SIZE + lid;
            if (i < count)
                payload_out[to[k]] = tile_payload[i];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
% endif
    }
% endif
}
