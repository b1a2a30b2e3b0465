// keys/radix_tile.h: a tile of a radix pass: a stable sort of its keys by one digit in local memory.
//
//   load_keys     a team of LANES work-items takes LANES * ITEMS keys in a row, item k of lane l is key k * LANES + l
//   rank_keys     counts for every team and digit, and the rank of each key among its own (keys/digit_match.h)
//   scan_digits   scans the counts over (digit, team): the first index of each in the tile
//   order_keys    moves keys to their indices in local memory
//
// After keys/radix_digit.h and keys/digit_match.h. The includer has WG_SIZE, ITEMS of a work-item, LANES, TEAMS, RADIX, and
// group_scan_sums(cells, count, lid), a GROUP_SCAN of local uints. Every work-item of the group calls all of these.

// Arrays of ITEMS stay in registers only if their loops are unrolled. Unrolling loops with barriers costs more than it saves.
#if CLGEOM_MATCH_MASKS
#define EACH_ITEM(k) for (uint k = 0; k < ITEMS; ++k)
#else
#define EACH_ITEM(k) _Pragma("unroll") for (uint k = 0; k < ITEMS; ++k)
#endif

// Index in the tile, as it is loaded, of item k of a work-item.
inline uint item_index(uint lid, uint k) { return (lid / LANES * ITEMS + k) * LANES + lid % LANES; }

inline void load_keys(global const key_t *keys, uint count, key_t *mine, uint lid)
{
    EACH_ITEM(k) {
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
    EACH_ITEM(k) {
        const uint digit = item_index(lid, k) < count ? radix_digit(mine[k], flip, shift, mask) : RADIX - 1;
        index[k] = digit << 16 | team_rank(digit, team_counts + team * RADIX, team_masks + team * RADIX, lane);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

// Replaces the counts of the teams by their first indices in the tile. from_tile[d] is the difference between an index in
// the output and in the tile; next[d] advances by the tile's keys.
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

// Replaces index[k], which is digit << 16 | rank, by the index in the ordered tile. tile_keys may be the memory of the
// counts.
inline void order_keys(const key_t *mine, uint *index, volatile local const uint *team_counts, local key_t *tile_keys,
                       uint lid)
{
    EACH_ITEM(k)
        index[k] = (index[k] & 0xffff) + team_counts[lid / LANES * RADIX + (index[k] >> 16)];
    barrier(CLK_LOCAL_MEM_FENCE);
    EACH_ITEM(k)
        tile_keys[index[k]] = mine[k];
    barrier(CLK_LOCAL_MEM_FENCE);
}
