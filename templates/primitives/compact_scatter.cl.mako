<%page args="classes=1, tile=4096, index='uint', any_nonzero=False, variant='group', wg_size=256, items_per_thread=16"/>\
// compact_scatter: the indices of the labels of each class, in input order, class after class.
//
//   labels  | 0 2 0 0 1 .. | 0 0 .. |                        a tile of ${tile} bytes to a group,
//   offsets [ class 1: tile 0, tile 1 .. | class 2: .. ]        ${tile} / WG_SIZE bytes in a row to a work-item
//   out     [ indices of class 1 .. | of class 2 .. | .. ]
//
// A tile without survivors is not read. Reads at most n bytes, writes one index a survivor.
#include "portable.h"
#define WG_SIZE ${wg_size}
#include "group/scan.h"
GROUP_SCAN(group_scan_ranks, local, ulong, GROUP_SUM)
#define TILE ${tile}
#define CLASSES ${classes}
#define ITEMS (TILE / WG_SIZE)
#ifdef __ENDIAN_LITTLE__
#define SHIFT(k) (8 * (k))          // where byte k of eight is in their word
#else
#define SHIFT(k) (56 - 8 * (k))
#endif
#define CLASS(label) ${"((label) ? 0u : ~0u)" if any_nonzero else "((uint)(label) - 1)"}   // ~0: none

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void compact_scatter(global const uchar *labels, const ulong n, const ulong start, const ulong first_tile,
                     const ulong all_tiles, global const uint *counts, global const ${index} *offsets,
                     global ${index} *out)
{
    const uint lid = get_local_id(0);
    const ulong tiles = (n + TILE - 1) / TILE;
% if variant == "serial":
    const ulong share = (tiles + get_num_groups(0) - 1) / get_num_groups(0);
    const ulong begin = min(get_group_id(0) * share, tiles), end = min(begin + share, tiles);
    for (ulong tile = begin; tile < end; ++tile) {
        ${index} place[CLASSES];
        uint survivors = 0;
        for (uint c = 0; c < CLASSES; ++c) {
            place[c] = offsets[c * all_tiles + first_tile + tile];
            survivors += counts[c * all_tiles + first_tile + tile];
        }
        const ulong last = min(tile * TILE + TILE, n);
        for (ulong i = tile * TILE; survivors > 0 && i < last; i += 8) {
            // eight labels in a word; those that are not zero, in order
            ulong word = 0;
            if (i + 8 <= last)
                word = as_ulong(vload8(0, labels + i));
            else
                for (uint k = 0; i + k < last; ++k)
                    word |= (ulong)labels[i + k] << SHIFT(k);
            while (word) {
#ifdef __ENDIAN_LITTLE__
                const uint k = popcount((word & -word) - 1) / 8;
#else
                const uint k = clz(word) / 8;
#endif
                const uint c = CLASS(word >> SHIFT(k) & 0xff);
                word &= ~((ulong)0xff << SHIFT(k));
                if (c < CLASSES) {
                    out[place[c]++] = (${index})(start + i + k);
                    --survivors;
                }
            }
        }
    }
% else:
    // One scan ranks four classes at once, in fields of 16 bits.
    local ulong ranks[2 * WG_SIZE];
    for (ulong tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        uint survivors = 0;
        for (uint c = 0; c < CLASSES; ++c)
            survivors += counts[c * all_tiles + first_tile + tile];
        if (survivors) {   // the same for the whole group
            const ulong base = tile * TILE + lid * ITEMS;
            uchar mine[ITEMS];
            for (uint k = 0; k < ITEMS; ++k)
                mine[k] = base + k < n ? labels[base + k] : 0;
            for (uint g = 0; g < CLASSES; g += 4) {
                ulong count = 0;
                for (uint k = 0; k < ITEMS; ++k)
                    if (CLASS(mine[k]) - g < 4)
                        count += (ulong)1 << 16 * (CLASS(mine[k]) - g);
                ranks[lid] = count;
                const uint from = group_scan_ranks(ranks, WG_SIZE, lid);
                ulong rank = ranks[from + lid] - count;
                for (uint k = 0; k < ITEMS && count; ++k) {
                    const uint c = CLASS(mine[k]) - g;
                    if (c < 4 && g + c < CLASSES) {
                        out[offsets[(g + c) * all_tiles + first_tile + tile] + (rank >> 16 * c & 0xffff)] =
                            (${index})(start + base + k);
                        rank += (ulong)1 << 16 * c;
                    }
                }
                barrier(CLK_LOCAL_MEM_FENCE);
            }
        }
    }
% endif
}
