<%page args="classes=1, tile=4096, index='uint', any_nonzero=False, variant='serial', wg_size=1, items_per_thread=1"/>\
// compact_scatter: the indices of the labels of each class, in input order, class after class. The version of CPUs.
//
//   labels  | 0 2 0 0 1 0 0 0 | 0 0 .. |                    a tile of ${tile} bytes, eight of them in a word
//   offsets [ class 1: tile 0, tile 1 .. | class 2: .. ]
//   out     [ indices of class 1 .. | of class 2 .. | .. ]
//
// A work-item takes tiles in a row, and looks at the labels of a word that are not zero, until it has found as many as
// the tile has. Reads at most n bytes, writes one index a survivor.
#include "portable.h"
#define TILE ${tile}
#define CLASSES ${classes}
typedef ${index} index_t;
#ifdef __ENDIAN_LITTLE__
#define SHIFT(k) (8 * (k))                                // where byte k of eight is in their word
#define FIRST_SET(word) (popcount(((word) & -(word)) - 1) / 8)   // the first byte that is not zero
#else
#define SHIFT(k) (56 - 8 * (k))
#define FIRST_SET(word) (clz(word) / 8)
#endif
#define CLASS(label) ${"((label) ? 0u : ~0u)" if any_nonzero else "((uint)(label) - 1)"}   // ~0: none

// Eight labels, 0 beyond the end.
inline ulong load_word(global const uchar *labels, ulong i, ulong last)
{
    if (i + 8 <= last)
        return as_ulong(vload8(0, labels + i));
    ulong word = 0;
    for (uint k = 0; i + k < last; ++k)
        word |= (ulong)labels[i + k] << SHIFT(k);
    return word;
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void compact_scatter(global const uchar *labels, const ulong n, const ulong start, const ulong first_tile,
                     const ulong all_tiles, global const uint *counts, global const index_t *offsets,
                     global index_t *out)
{
    const ulong tiles = (n + TILE - 1) / TILE, share = (tiles + get_num_groups(0) - 1) / get_num_groups(0);
    const ulong begin = min(get_group_id(0) * share, tiles), end = min(begin + share, tiles);
    for (ulong tile = begin; tile < end; ++tile) {
        index_t next[CLASSES];
        uint survivors = 0;
        for (uint c = 0; c < CLASSES; ++c) {
            next[c] = offsets[c * all_tiles + first_tile + tile];
            survivors += counts[c * all_tiles + first_tile + tile];
        }
        const ulong last = min(tile * TILE + TILE, n);
        for (ulong i = tile * TILE; survivors > 0 && i < last; i += 8) {
            ulong word = load_word(labels, i, last);
            while (word) {
                const uint k = FIRST_SET(word), c = CLASS(word >> SHIFT(k) & 0xff);
                word &= ~((ulong)0xff << SHIFT(k));
                if (c < CLASSES) {
                    out[next[c]++] = (index_t)(start + i + k);
                    --survivors;
                }
            }
        }
    }
}
