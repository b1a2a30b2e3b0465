<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// classes_emit: the corners of all arcs; a work-item follows a chain backwards along its arc.
//
//   corners    | arc 0: (x, y) (x, y) .. | arc 1: .. |
//   areas      | what each step adds to the area of a ring, in cells, 0 at the end of an arc
//   starts     the first of them of each arc, and the end
//   heads      the first step of each arc
//   arrivals   for each node and direction the arc that arrives from there
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "classes/lines.h"
#include "rings/chains.h"
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_emit(global const uint4 *states, global const uint *firsts, global const uint *before,
                  global const uchar *turns, global const ulong *sizes, global const uint *begins,
                  global const uint *ends, global const uint2 *places, global const uint *nodes, const uint n,
                  const uint lines, global int2 *corners, global long *areas, global long *starts, global uint *heads,
                  global uint *arrivals)
{
    const range_t items = items_of(n);
    for (uint chain = items.begin; chain < items.end; chain += items.stride) {
        const uint4 state = states[chain];
        const uint arc = sizes[state.y] >> 32, start = (uint)sizes[state.y], steps = (uint)sizes[state.y + 1] - start - 1;
        uint step = firsts[chain], place = state.y == chain ? 0 : state.z / 2, goes_on;
        const uint layer = places[begins[step]].y / lines;
        if (state.y == chain) {
            heads[arc] = step;
            starts[arc] = start;
        }
        if (turns[step] & TAIL)
            arrivals[4 * nodes[ends[step]] + direction_of(places[ends[step]], places[begins[step]])] = arc;
        if (chain == n - 1)
            starts[sizes[n] >> 32] = (uint)sizes[n];
        do {
            const int2 from = convert_int2(places[begins[step]] - (uint2)(0, layer * lines));
            const int2 to = convert_int2(places[ends[step]] - (uint2)(0, layer * lines));
            corners[start + place] = from;
            areas[start + place] = (long)(from.x - to.x) * from.y;
            if (place == steps - 1) {
                corners[start + steps] = to;
                areas[start + steps] = 0;
            }
            place = (place ? place : steps) - 1;
            goes_on = follow(before, turns, &step);
        } while (goes_on);
    }
}
