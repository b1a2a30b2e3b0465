<%page args="real='float', approx='float', filtered=True, tile=4096, variant='group', wg_size=256, items_per_thread=1"/>\
// heaphull_label: the queue of every point: 0 strictly inside the octagon, else 1 NE, 2 NW, 3 SW, 4 SE.
//
//   points   | tile 0       | tile 1       | ..      a tile of ${tile} points to a group
//   labels   | 0 0 1 0 4 .. | 0 0 0 ..     | ..
//   counts   [ label 1: tile 0, tile 1 .. | label 2: .. | 3 | 4 ]     for the scan that gives each queue its offsets
//
// Most points are strictly inside a box between the diagonal extreme points, which lies in the octagon. The others get the
// label of the first edge, in the order of quadrants, which they are not strictly left of (geometry/octagon.h).
// Reads every point once, writes one byte a point and four counts a tile.
// Source: Ferrada, Navarro, Hitschfeld, "A filtering technique for fast convex hull construction in R2",
// J. Comput. Appl. Math. 364 (2020), section 3.
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define APPROX ${approx}
#include "geometry/octagon.h"
#define WG_SIZE ${wg_size}
#define TILE ${tile}
#define PAIRS ${min(8, tile // 2 // wg_size)}
#define SHARE (2 * PAIRS * WG_SIZE)

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void heaphull_label(global const real_t *points, const ulong n, const ulong first_tile, const ulong all_tiles,
                    constant edge_t *edges, global uchar *labels, global uint *counts)
{
    const ulong tiles = (n + TILE - 1) / TILE;
    const edge_t box = edges[EDGES];
% for e in range(8):
    const approx_t nx${e} = edges[${e}].nx, ny${e} = edges[${e}].ny, offset${e} = edges[${e}].offset;
% endfor
    // A tile in shares of SHARE points, in pairs, PAIRS of them to a work-item; bit b of `outside` is set when point b
    // of the work-item's is not in the box. Only such points are tested further.
    local uint local_counts[5];
    const uint lid = get_local_id(0);
    for (ulong tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        for (uint c = lid; c < 5; c += WG_SIZE)
            local_counts[c] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        const ulong last = min(tile * TILE + TILE, n);
        for (ulong begin = tile * TILE; begin < last; begin += SHARE) {
            global const ${real} *const row = points + begin * 2;
            global uchar *const row_labels = labels + begin;
            const uint count = min((ulong)SHARE, n - begin);
            uint outside = 0;
            if (count == SHARE) {
#pragma unroll
                for (uint k = 0; k < PAIRS; ++k) {
                    const ${real}4 two = CLGEOM_LOAD4(${real}, row, k * WG_SIZE + lid);
                    if (!(two.x > box.ax && two.x < box.bx && two.y > box.ay && two.y < box.by))
                        outside |= 1u << (2 * k);
                    if (!(two.z > box.ax && two.z < box.bx && two.w > box.ay && two.w < box.by))
                        outside |= 2u << (2 * k);
                }
#pragma unroll
                for (uint k = 0; k < PAIRS; ++k)
                    vstore2((uchar2)0, k * WG_SIZE + lid, row_labels);
            } else {
                for (uint b = 0; b < 2 * PAIRS; ++b) {
                    const uint i = 2 * (b / 2 * WG_SIZE + lid) + b % 2;
                    if (i < count) {
                        row_labels[i] = 0;
                        outside |= 1u << b;
                    }
                }
            }
            while (outside) {
                const uint bit = outside & -outside;
                const uint b = popcount(bit - 1), i = 2 * (b / 2 * WG_SIZE + lid) + b % 2;
                outside ^= bit;
                const approx_t x = row[2 * i], y = row[2 * i + 1];
                approx_t lowest = nx0 * x + ny0 * y + offset0;
% for e in range(1, 8):
                const approx_t line${e} = nx${e} * x + ny${e} * y + offset${e};
                lowest = line${e} < lowest ? line${e} : lowest;
% endfor
                if (!(lowest > 0)) {
                    const uchar label = label_of(edges, row[2 * i], row[2 * i + 1]);
                    row_labels[i] = label;
                    atomic_inc(&local_counts[label]);
                }
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint c = lid; c < 4; c += WG_SIZE)
            counts[c * all_tiles + first_tile + tile] = local_counts[c + 1];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
