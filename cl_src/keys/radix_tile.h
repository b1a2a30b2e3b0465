// keys/radix_tile.h: a tile of a radix pass: its keys in order by one digit in local memory, equal digits as they came.
//
//   load_keys     a team of LANES work-items takes LANES * ITEMS keys in a row, item k of lane l is key k * LANES + l
//   rank_keys     the counts of every team and digit, and each key's rank within its own (keys/digit_match.h)
//   scan_digits   over (digit, team): where they begin in the tile
//   order_keys    keys to their indices in local memory
//
// After keys/radix_digit.h and keys/digit_match.h. The includer has WG_SIZE, ITEMS of a work-item, LANES, TEAMS, RADIX, and
// group_scan_sums(cells, count, lid), a GROUP_SCAN of local uints. Every work-item of the group calls all of these.

// Arrays of ITEMS stay in registers only where their loops are unrolled; with barriers inside that costs more.
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
    EACH_ITEM(k)
        index[k] = (index[k] & 0xffff) + team_counts[lid / LANES * RADIX + (index[k] >> 16)];
    barrier(CLK_LOCAL_MEM_FENCE);
    EACH_ITEM(k)
        tile_keys[index[k]] = mine[k];
    barrier(CLK_LOCAL_MEM_FENCE);
}
