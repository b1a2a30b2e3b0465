// keys/radix_tile.h: a tile of a radix pass: a stable sort of its keys by one digit in local memory.
//
//   load_keys      a team of LANES work-items takes LANES * ITEMS keys in a row, item k of lane l is key k * LANES + l
//   count_digits   how often each team has each digit
//   scan_digits    of a value for each digit
//   total_digits   how often the tile has each digit
//   start_digits   where each digit begins in the tile, and where each team's part of it begins
//   order_keys     keys to their indices in local memory, by their ranks in their teams (keys/digit_match.h)
//
// After keys/radix_digit.h and keys/digit_match.h. The includer has WG_SIZE, ITEMS of a work-item, LANES, TEAMS and RADIX.
// Every work-item of the group calls all of these.

// Arrays of ITEMS stay in registers only if their loops are unrolled. Unrolling loops with barriers costs more than it saves.
#if CLGEOM_MATCH_MASKS
#define EACH_ITEM(k) for (uint k = 0; k < ITEMS; ++k)
#else
#define EACH_ITEM(k) _Pragma("unroll") for (uint k = 0; k < ITEMS; ++k)
#endif

// Index in the tile, as it is loaded, of item k of a work-item.
inline uint item_index(uint lid, uint k) { return (lid / LANES * ITEMS + k) * LANES + lid % LANES; }

// A key of all ones when ordered: it comes after every key.
inline key_t last_key(key_t flip)
{
#if CLGEOM_LOAD_ORDERED
    return (key_t)~(key_t)0;
#elif CLGEOM_KEY_FLOAT == 1
    return (key_t)~CLGEOM_KEY_SIGN;         // a NaN
#elif CLGEOM_KEY_FLOAT == 2
    return CLGEOM_KEY_SIGN;                 // NaT
#else
    return (key_t)~flip;
#endif
}

// Items beyond the end, all in the last tile, are last keys, and so the last ones of digit `mask`.
inline void load_keys(global const key_t *keys, uint count, key_t flip, key_t *mine, uint lid)
{
    if (count == TILE) {
        EACH_ITEM(k)
            mine[k] = keys[item_index(lid, k)];
        return;
    }
    EACH_ITEM(k) {
        const uint i = item_index(lid, k);
        mine[k] = i < count ? keys[i] : last_key(flip);
    }
}

// Atomic: counts do not depend on the order.
inline void count_digits(const key_t *mine, key_t flip, uint shift, uint mask, volatile local uint *team_counts,
                         uint lid)
{
    for (uint k = lid; k < TEAMS * RADIX * (1 + CLGEOM_MATCH_MASKS); k += WG_SIZE)
        team_counts[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    EACH_ITEM(k)
        atomic_inc(&team_counts[lid / LANES * RADIX + radix_digit(mine[k], flip, shift, mask)]);
    barrier(CLK_LOCAL_MEM_FENCE);
}

#if CLGEOM_MATCH_MASKS
#include "group/scan.h"
GROUP_SCAN(scan_cells, local, uint, GROUP_SUM)

// Inclusive scan of cells[0 .. RADIX), which a work-item filled from `lid` on by WG_SIZE; they have room for 2 * RADIX.
// Returns where the result starts.
inline uint scan_digits(local uint *cells, uint lid) { return scan_cells(cells, RADIX, lid); }
#else
inline uint scan_digits(local uint *cells, uint lid)        // as above: teams scan their 32 digits, then add up
{
    for (uint d = lid; d < RADIX; d += WG_SIZE) {
        cells[d] = team_scan(cells[d], lid % LANES);
        if (lid % LANES == LANES - 1)
            cells[RADIX + d / LANES] = cells[d];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint d = lid; d < RADIX; d += WG_SIZE) {
        uint sum = cells[d];
        for (uint t = 0; t < d / LANES; ++t)
            sum += cells[RADIX + t];
        cells[d] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return 0;
}
#endif

// totals[d], also of items beyond the end. A work-item reads back only what it wrote.
inline void total_digits(volatile local const uint *team_counts, local uint *totals, uint lid)
{
    for (uint d = lid; d < RADIX; d += WG_SIZE) {
        uint sum = 0;
        for (uint t = 0; t < TEAMS; ++t)
            sum += team_counts[t * RADIX + d];
        totals[d] = sum;
    }
}

// starts[d]: the first index of digit d in the tile. The teams' counts become the first index of each.
inline void start_digits(volatile local uint *team_counts, local uint *totals, local uint *starts, uint lid)
{
    const uint at = scan_digits(totals, lid);
    for (uint d = lid; d < RADIX; d += WG_SIZE) {
        uint sum = d ? totals[at + d - 1] : 0;
        starts[d] = sum;
        for (uint t = 0; t < TEAMS; ++t) {
            const uint of_team = team_counts[t * RADIX + d];
            team_counts[t * RADIX + d] = sum;
            sum += of_team;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

// index[k]: that of item k in the ordered tile. tile_keys may be the memory of the counts.
inline void order_keys(const key_t *mine, key_t flip, uint shift, uint mask, volatile local uint *team_counts,
                       volatile local uint *team_masks, uint *index, local key_t *tile_keys, uint lid)
{
    const uint team = lid / LANES, lane = lid % LANES;
    EACH_ITEM(k) {
        const uint digit = radix_digit(mine[k], flip, shift, mask);
        index[k] = team_rank(digit, team_counts + team * RADIX, team_masks + team * RADIX, lane);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    EACH_ITEM(k)
        tile_keys[index[k]] = mine[k];
    barrier(CLK_LOCAL_MEM_FENCE);
}
