<%page args="emit=False, variant='serial', wg_size=1, items_per_thread=1"/>\
// classes_circuits: the rings of all faces; for CPUs. A work-item follows the halves of arcs around a share of the faces.
//
//   without emit   after       the half behind each half; SEEN is added in all rings
//                  rings, sizes  the number of rings of each face, and of their arcs; 0 at the end
//                  leads, holes  the least half of its exterior, and those of its first and its last hole; `links` lead from
//                              hole to hole
//                  cells, layers, parents   its cells and its layer; its parent is itself
//   with emit      starts, arcs  the first arc of each ring, and the arcs in order, backward ones as ~arc; `rings` and
//                              `sizes` are sums
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL 1
#include "rings/items.h"
#define NONE 0xffffffffu
#define SEEN 0x80000000u   // halves are fewer

% if emit:
// Writes the arcs of a ring; returns where the next ring goes.
inline uint put_ring(global const uint *after, global int *arcs, uint place, uint lead)
{
    uint at = lead;
    do {
        arcs[place++] = at & 1 ? ~(int)(at / 2) : (int)(at / 2);
        at = after[at] & ~SEEN;
    } while (at != lead);
    return place;
}

% endif
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_circuits(global uint *after, global const int *left, global const int *right,
                      global const long *areas, global const uint2 *firsts, const uint n, const uint faces,
                      const uint lines, global uint *links, global uint *leads, global uint2 *holes,
                      global long *rings, global long *sizes, global long *cells, global int *layers,
                      global uint *parents, global long *starts, global int *arcs)
{
    const range_t items = items_of(faces);
    if (items.begin == items.end)
        return;
    if (items.end == faces)
        ${"starts[rings[faces]] = sizes[faces]" if emit else "rings[faces] = sizes[faces] = 0"};
    for (uint face = items.begin; face < items.end; ++face) {
% if emit:
        uint place = sizes[face], ring = rings[face];
        starts[ring++] = place;
        place = put_ring(after, arcs, place, leads[face]);
        const uint2 own = holes[face];
        for (uint hole = own.x; hole != NONE; hole = hole == own.y ? NONE : links[hole]) {
            starts[ring++] = place;
            place = put_ring(after, arcs, place, hole);
        }
    }
% else:
        rings[face] = sizes[face] = cells[face] = 0;
        layers[face] = firsts[face].y / lines;
        parents[face] = face;
        holes[face] = NONE;
    }
    for (uint one = 0; one < n; ++one) {
        const uint face = (one & 1 ? right : left)[one / 2];
        if (face - items.begin >= items.end - items.begin || after[one] & SEEN)
            continue;
        long area = 0;
        uint size = 0, at = one;
        do {
            area += at & 1 ? -areas[at / 2] : areas[at / 2];
            ++size;
            const uint next = after[at];
            after[at] = next | SEEN;
            at = next;
        } while (at != one);
        ++rings[face];
        sizes[face] += size;
        cells[face] += area;
        if (area > 0) {
            leads[face] = one;
        } else {
            uint2 ends = holes[face];
            if (ends.x == NONE)
                ends.x = one;
            else
                links[ends.y] = one;
            ends.y = one;
            holes[face] = ends;
        }
    }
% endif
}
