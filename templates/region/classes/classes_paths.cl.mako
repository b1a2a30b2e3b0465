<%page args="emit=False, variant='serial', wg_size=1, items_per_thread=1"/>\
// classes_paths: all arcs, followed from corner to corner; for CPUs. A work-item has the arcs that begin in its words.
//
//   without emit   starts       the number of corners of each arc, 0 at the end
//                  areas        what each arc adds to the area of a ring, in cells
//                  left, right  the faces beside each arc
//                  arrivals     for each node and direction the arc that arrives from there
//                  after        of each half of a closed arc itself
//   with emit      corners      of all arcs, one after the other; `starts` are sums of their numbers
//                  after        of each half that arrives at a node the one behind it on a ring, see classes/halves.h
//
// Arcs from nodes come first (`runs` has their sums in its lower halves), closed ones behind them.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL 1
#include "classes/lines.h"
#include "classes/walk.h"
#include "classes/halves.h"
#include "rings/items.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_paths(global const uint4 *planes, global const uint *active, global const uint *nodes,
                   global const uint *loops, global const ulong *corner_counts, global const ulong *runs,
                   global const uint *loop_counts, global const uint *faces, const uint n, const uint words,
                   const uint lines, const uint columns, const uint open, const uint arcs, global long *starts,
                   global long *areas, global int *left, global int *right, global uint *arrivals,
                   global uint *after, global int2 *corners)
{
    const range_t items = items_of(n);
% if not emit:
    if (get_global_id(0) == 0)
        starts[arcs] = 0;
% endif
    for (uint at = items.begin; at < items.end; ++at) {
        const uint begins = nodes[at] | loops[at];
        if (!begins)
            continue;
        const sides_t sides = sides_of(planes, at, words);
        const uint y = at / words, layer_line = y / lines * lines;
        uint step = (uint)runs[at], loop = open + loop_counts[at];
% if emit:
        uint node = corner_counts[at] >> 32;
% endif
        for (uint rest = begins; rest; rest &= rest - 1) {
            const uint bit = lowest_bit(rest), x = 32 * (at % words) + bit, is_loop = loops[at] >> bit & 1;
            const uint4 out = sides.out >> bit & 1;
            uint leaves = out.x | out.y << 1 | out.z << 2 | out.w << 3;
% if emit:
            if (!is_loop) {
                const uint4 in = sides.in >> bit & 1;
                const uint any = leaves | in.x | in.y << 1 | in.z << 2 | in.w << 3;
                const node_t own = node_at(leaves, any, step, arrivals + 4 * node++, left, right);
                for (uint all = any; all; all &= all - 1) {
                    const uint d = lowest_bit(all);
                    after[arriving_half(&own, d)] = leaving_half(&own, d);
                }
            }
% else:
            uint2 above = NO_FACE, below = NO_FACE;
            if (y > layer_line)
                above = faces_beside(planes, runs, faces, y - 1, words, columns, x);
            if (y - layer_line + 1 < lines)
                below = faces_beside(planes, runs, faces, y, words, columns, x);
            const uint round[4] = {below.y, below.x, above.x, above.y};   // at the left of what leaves in each direction
% endif
            for (; leaves; leaves &= leaves - 1) {
                const uint direction = lowest_bit(leaves), arc = is_loop ? loop++ : step++;
                walk_t walk = {x, y, direction / 2};
                int is_upright = direction & 1;
% if emit:
                global int2 *place = corners + starts[arc];
                *place = (int2)(x, y - layer_line);
% else:
                uint size = 1;
                long area = 0;
% endif
                while (1) {
                    if (!is_upright) {
% if not emit:
                        const uint from = walk.x;
% endif
                        go_along(&walk, active, words);
                        ${"*++place = (int2)(walk.x, walk.y - layer_line)" if emit else "++size"};
% if not emit:
                        area += (long)(int)(from - walk.x) * (walk.y - layer_line);
% endif
                        if (is_in(nodes, &walk, words) || (walk.x == x && walk.y == y))
                            break;
                        turn_down(&walk, planes, words);
                    }
                    is_upright = 0;
                    go_down(&walk, active, words);
                    ${"*++place = (int2)(walk.x, walk.y - layer_line)" if emit else "++size"};
                    if (is_in(nodes, &walk, words) || (walk.x == x && walk.y == y)) {
                        is_upright = 1;
                        break;
                    }
                    turn_along(&walk, planes, words);
                }
% if not emit:
                starts[arc] = size;
                areas[arc] = area;
                left[arc] = round[direction];
                right[arc] = round[(direction + 3) % 4];
                if (is_loop) {
                    after[2 * arc] = 2 * arc;
                    after[2 * arc + 1] = 2 * arc + 1;
                } else {
                    const uint end = walk.y * words + walk.x / 32, before = nodes[end] & ((1u << walk.x % 32) - 1);
                    const uint node = (uint)(corner_counts[end] >> 32) + bit_count(before);
                    arrivals[4 * node + is_upright + (walk.is_back ? 0 : 2)] = arc;
                }
% endif
            }
        }
    }
}
