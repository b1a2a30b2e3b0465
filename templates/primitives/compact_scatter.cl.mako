<%page args="classes=1, tile=4096, index='uint', any_nonzero=False, variant='group', wg_size=256, items_per_thread=16"/>\
// compact_scatter: the indices of the labels of each class, in input order, class after class.
//
//   labels  | 0 2 0 0 1 .. | 0 0 .. |                        a tile of ${tile} bytes to a group,
//   offsets [ class 1: tile 0, tile 1 .. | class 2: .. ]        ${tile} / WG_SIZE bytes in a row to a work-item
//   out     [ indices of class 1 .. | of class 2 .. | .. ]
//
// One scan ranks four classes at once, in fields of 16 bits. A tile without survivors is not read.
// Reads at most n bytes, writes one index a survivor.
#include "portable.h"
#define WG_SIZE ${wg_size}
#include "group/scan.h"
GROUP_SCAN(group_scan_ranks, local, ulong, GROUP_SUM)
#define TILE ${tile}
#define CLASSES ${classes}
#define ITEMS (TILE / WG_SIZE)
typedef ${index} index_t;
#define CLASS(label) ${"((label) ? 0u : ~0u)" if any_nonzero else "((uint)(label) - 1)"}   // ~0: none
#define FIELD(c) ((ulong)1 << 16 * (c))   // one member of class c of the four

inline void load_labels(global const uchar *labels, ulong base, ulong n, uchar *mine)
{
    for (uint k = 0; k < ITEMS; ++k)
        mine[k] = base + k < n ? labels[base + k] : 0;
}

// Members of the classes g .. g + 3 among a work-item's labels.
inline ulong count_fields(const uchar *mine, uint g)
{
    ulong count = 0;
    for (uint k = 0; k < ITEMS; ++k)
        if (CLASS(mine[k]) - g < 4)
            count += FIELD(CLASS(mine[k]) - g);
    return count;
}

// offsets: of class g and this tile; `all_tiles` further those of the next class.
inline void scatter_classes(const uchar *mine, uint g, ulong rank, ulong first_index, ulong all_tiles,
                            global const index_t *offsets, global index_t *out)
{
    for (uint k = 0; k < ITEMS; ++k) {
        const uint c = CLASS(mine[k]) - g;
        if (c < 4 && g + c < CLASSES) {
            out[offsets[c * all_tiles] + (rank >> 16 * c & 0xffff)] = (index_t)(first_index + k);
            rank += FIELD(c);
        }
    }
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void compact_scatter(global const uchar *labels, const ulong n, const ulong start, const ulong first_tile,
                     const ulong all_tiles, global const uint *counts, global const index_t *offsets,
                     global index_t *out)
{
    local ulong ranks[2 * WG_SIZE];
    const uint lid = get_local_id(0);
    const ulong tiles = (n + TILE - 1) / TILE;
    for (ulong tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        uint survivors = 0;
        for (uint c = 0; c < CLASSES; ++c)
            survivors += counts[c * all_tiles + first_tile + tile];
        if (survivors) {   // the same for the whole group
            const ulong base = tile * TILE + lid * ITEMS;
            uchar mine[ITEMS];
            load_labels(labels, base, n, mine);
            for (uint g = 0; g < CLASSES; g += 4) {
                const ulong count = count_fields(mine, g);
                ranks[lid] = count;
                const uint from = group_scan_ranks(ranks, WG_SIZE, lid);
                if (count)
                    scatter_classes(mine, g, ranks[from + lid] - count, start + base, all_tiles,
                                    offsets + g * all_tiles + first_tile + tile, out);
                barrier(CLK_LOCAL_MEM_FENCE);
            }
        }
    }
}
