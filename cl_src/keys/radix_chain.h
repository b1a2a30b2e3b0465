// keys/radix_chain.h: how often each digit occurs before a tile, while the tiles before are still under way: a chained scan
// with look-back over the words of the tiles before.
//
//   words   | tile 0: digit 0, 1 .. | tile 1 | .. |      0 until the tile has counted, then
//   word    CHAIN_TOTAL  | the tile's keys of the digit
//           CHAIN_PREFIX | where those of the next tile begin in the output; tile 0 tells this at once
//
// Tiles take their numbers as they begin, so those before have begun. A work-item adds up words, from the nearest back to
// the first CHAIN_PREFIX. A device need not let the groups before go on. So a group that has looked CHAIN_LOOKS times at a
// word that stays 0 counts that tile's digits itself, and stores them; then it goes on. It waits for no other.
//
// OpenCL 1.2 orders nothing between work-groups but atomics on one word. So a word holds all that is told, and counts have
// 30 bits. Besides words, groups read only keys that no group writes.
//
// After keys/radix_tile.h. The includer has CHAIN_LOOKS, and CHAIN_SILENT: 0, or every how many tiles one tells nothing,
// for tests of devices that stall.
#define CHAIN_TOTAL 0x40000000u
#define CHAIN_PREFIX 0x80000000u
#define CHAIN_COUNT 0x3fffffffu
#define CHAIN_AHEAD 4u                      // words under way at once

inline uint chain_word(volatile global uint *word)
{
#if CLGEOM_MATCH_MASKS
    return atomic_or(word, 0u);
#else                                       // PTX: as atomic, and cheaper
    uint seen;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(word) : "memory");
    return seen;
#endif
}

inline bool chain_tells(uint tile) { return CHAIN_SILENT == 0 || tile % (CHAIN_SILENT + !CHAIN_SILENT) != 0; }

inline void chain_store(volatile global uint *words, uint tile, uint digit, uint value)
{
    if (chain_tells(tile))
        atomic_xchg(&words[(ulong)tile * RADIX + digit], value);
}

// Adds up the words of a digit, of the `left` tiles before that are not yet in *before; returns how many are still left.
inline uint chain_look_back(volatile global uint *words, uint digit, uint left, uint *before)
{
    for (uint looks = 0; left && looks < CHAIN_LOOKS; ++looks) {
        uint seen[CHAIN_AHEAD];
        _Pragma("unroll") for (uint k = 0; k < CHAIN_AHEAD; ++k)
            seen[k] = k < left ? chain_word(&words[(ulong)(left - 1 - k) * RADIX + digit]) : 0;
        _Pragma("unroll") for (uint k = 0; k < CHAIN_AHEAD && seen[k]; ++k) {
            *before += seen[k] & CHAIN_COUNT;
            looks = 0;
            if (seen[k] & CHAIN_PREFIX)
                return 0;
            --left;
        }
    }
    return left;
}

// counts[d] of all keys of a tile that is not the last.
inline void chain_count(global const key_t *tile_keys, key_t flip, uint shift, uint mask, local uint *counts, uint lid)
{
    for (uint d = lid; d < RADIX; d += WG_SIZE)
        counts[d] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = lid; i < TILE; i += WG_SIZE)
        atomic_inc(&counts[radix_digit(tile_keys[i], flip, shift, mask)]);
    barrier(CLK_LOCAL_MEM_FENCE);
}

// Where the keys of `digit` begin in the output: how often lower digits occur. cells[2 * RADIX] are local memory.
inline uint chain_first(global const uint *of_digits, uint digit, local uint *cells, uint lid)
{
    for (uint d = lid; d < RADIX; d += WG_SIZE)
        cells[d] = of_digits[d];
    const uint at = scan_digits(cells, lid);
    const uint first = digit ? cells[at + digit - 1] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    return first;
}

// Where the tile's keys of `digit` begin in the output. Every work-item of the group calls it; `looks` tells which have a
// digit. cells[2 * RADIX] and *late are local memory of the group; *late is 0 before and after. A barrier is due before the
// next call.
inline uint chain_before(global const key_t *keys, key_t flip, uint shift, uint mask, global const uint *of_digits,
                         volatile global uint *words, uint tile, uint digit, bool looks, local uint *cells,
                         volatile local uint *late, uint lid)
{
    if (tile == 0)
        return chain_first(of_digits, digit, cells, lid);
    uint before = 0, left = looks ? tile : 0;
    for (;;) {
        left = chain_look_back(words, digit, left, &before);
        if (left)
            atomic_max(late, left);
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint nearest = *late;         // 1 + the nearest tile that is missing
        if (nearest == 0)
            return before;
        chain_count(keys + (nearest - 1) * TILE, flip, shift, mask, cells, lid);
        uint missing = cells[digit];
        if (lid == 0)
            *late = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (nearest == 1)
            missing += chain_first(of_digits, digit, cells, lid);
        if (left == nearest) {
            before += missing;
            atomic_cmpxchg(&words[(ulong)(nearest - 1) * RADIX + digit], 0u,
                           (nearest == 1 ? CHAIN_PREFIX : CHAIN_TOTAL) | missing);
            --left;
        }
    }
}
