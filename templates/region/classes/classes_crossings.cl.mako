<%page args="value='uchar', variant='serial', wg_size=1, items_per_thread=1"/>\
// classes_crossings: faces of one class that share a corner get one root: for connections of 8, on CPUs; see classes_paths.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL 1
#define VALUE ${value}
#include "classes/lines.h"
#include "classes/unite.h"
#include "classes/halves.h"
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_crossings(global const uint4 *planes, global const uint *nodes, global const ulong *corner_counts,
                   global const ulong *runs, global const uint *arrivals, global const int *left,
                   global const int *right, global const VALUE *values, const uint n, const uint words,
                   volatile global uint *parents)
{
    const range_t items = items_of(n);
    for (uint at = items.begin; at < items.end; ++at) {
        const sides_t sides = sides_of(planes, at, words);
        uint step = (uint)runs[at], node = corner_counts[at] >> 32;
        for (uint rest = nodes[at]; rest; rest &= rest - 1, ++node) {
            const uint bit = lowest_bit(rest);
            const uint4 out = sides.out >> bit & 1, in = sides.in >> bit & 1;
            const uint leaves = out.x | out.y << 1 | out.z << 2 | out.w << 3;
            if ((leaves | in.x | in.y << 1 | in.z << 2 | in.w << 3) == 15) {
                const node_t own = node_at(leaves, 15, step, arrivals + 4 * node, left, right);
                unite_diagonals(&own, values, parents);
            }
            step += bit_count(leaves);
        }
    }
}
