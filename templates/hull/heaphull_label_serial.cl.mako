<%page args="real='float', approx='float', filtered=True, tile=4096, variant='serial', wg_size=1, items_per_thread=1"/>\
// heaphull_label: the queue of every point, on CPUs: 0 strictly inside the octagon, else 1 NE, 2 NW, 3 SW, 4 SE.
//
//   points   | tile 0       | tile 1       | ..      a tile of ${tile} points after the other by a work-item, 8 at a time
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
<%
    vec, mask = (4, "long") if real == "double" else (8, "int")
    vector, masks, lines = f"{real}{vec}", f"{mask}{vec}", f"{approx}{vec}"
    def approx_of(value):
        return value if real == approx else f"convert_{lines}({value})"
%>\

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void heaphull_label(global const real_t *points, const ulong n, const ulong first_tile, const ulong all_tiles,
                    constant edge_t *edges, global uchar *labels, global uint *counts)
{
    const ulong tiles = (n + TILE - 1) / TILE;
    const edge_t box = edges[EDGES];
% for e in range(8):
    const approx_t nx${e} = edges[${e}].nx, ny${e} = edges[${e}].ny, offset${e} = edges[${e}].offset;
% endfor
    const ulong share = (tiles + get_num_groups(0) - 1) / get_num_groups(0);
    const ulong begin = min(get_group_id(0) * share, tiles), end = min(begin + share, tiles);
    const ${vector} low = (${vector})(${", ".join(["box.ax, box.ay"] * (vec // 2))});
    const ${vector} high = (${vector})(${", ".join(["box.bx, box.by"] * (vec // 2))});
    for (ulong tile = begin; tile < end; ++tile) {
        uint count[5] = {0, 0, 0, 0, 0};
        ${masks} found1 = 0, found2 = 0, found3 = 0, found4 = 0;       // minus the labels counted, by lane
        const ulong last = min(tile * TILE + TILE, n);
        ulong i = tile * TILE;
        for (; i + 8 <= last; i += 8) {
% for k in range(16 // vec):
            const ${vector} v${k} = vload${vec}(0, points + 2 * i + ${k * vec});
% endfor
            if (all(as_int8(${" & ".join(f"(v{k} > low) & (v{k} < high)" for k in range(16 // vec))}))) {
                vstore8((uchar8)0, 0, labels + i);
                continue;
            }
% for k in range(8 // vec):
            {
                const ${vector} px = (${vector})(v${2 * k}.even, v${2 * k + 1}.even);
                const ${vector} py = (${vector})(v${2 * k}.odd, v${2 * k + 1}.odd);
                const ${lines} x = ${approx_of("px")}, y = ${approx_of("py")};
                ${lines} label = 0;
                ${masks} unsure = 0;
% for e in reversed(range(8)):
                const ${lines} line${e} = nx${e} * x + ny${e} * y + offset${e};
                label = line${e} > 0 ? label : (${lines})edges[${e}].quadrant;
                unsure |= line${e} <= 0 && line${e} >= -edges[${e}].slack;
% endfor
                if (any(unsure)) {
% for lane in range(vec):
                    ++count[labels[i + ${k * vec + lane}] = label_of(edges, px.s${lane}, py.s${lane})];
% endfor
                } else {
                    vstore${vec}(convert_uchar${vec}(label), 0, labels + i + ${k * vec});
% for q in range(1, 5):
                    found${q} += label == ${q};
% endfor
                }
            }
% endfor
        }
% for q in range(1, 5):
        count[${q}] -= ${" + ".join(f"found{q}.s{lane}" for lane in range(vec))};
% endfor
        for (; i < last; ++i)
            ++count[labels[i] = label_of(edges, points[2 * i], points[2 * i + 1])];
        for (int c = 0; c < 4; ++c)
            counts[c * all_tiles + first_tile + tile] = count[c + 1];
    }
}
