<%page args="variant='serial', wg_size=1, items_per_thread=1"/>\
// classes_loops: the first corners of closed arcs in each word, as bits, and their number; 0 at the end. For CPUs.
//
//   o---->.        a top left corner is the first one of its arc unless the arc leads to a node, or to a corner above or to
//   ^     |        the left in the same line. It is followed both ways at a time until one of them does: so all corners
//   |     v        together take n log n steps, however arcs wind.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL 1
#include "classes/lines.h"
#include "classes/walk.h"
#include "rings/items.h"

// 0 where a walk from (x, y) goes on, 1 where it is back, 2 where it shows that another corner is first.
inline uint end_of(const walk_t *walk, global const uint *nodes, uint words, uint x, uint y)
{
    if (walk->x == x && walk->y == y)
        return 1;
    return walk->y < y || (walk->y == y && walk->x < x) || is_in(nodes, walk, words) ? 2 : 0;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_loops(global const uint4 *planes, global const uint *active, global const uint *nodes, const uint n,
                   const uint words, global uint *loops, global uint *counts)
{
    const range_t items = items_of(n);
    if (items.end == n)
        counts[n] = 0;
    for (uint at = items.begin; at < items.end; ++at) {
        const uint4 own = planes[at];
        uint found = 0;
        for (uint left = active[at] & ~nodes[at] & (own.x | own.y) & (own.z | own.w); left; left &= left - 1) {
            const uint bit = lowest_bit(left), x = 32 * (at % words) + bit, y = at / words;
            walk_t one = {x, y, 0}, other = {x, y, 0};
            uint end;
            do {
                go_along(&one, active, words);
                end = end_of(&one, nodes, words, x, y);
                if (!end) {
                    go_down(&other, active, words);
                    end = end_of(&other, nodes, words, x, y);
                }
                if (!end) {
                    turn_down(&one, planes, words);
                    go_down(&one, active, words);
                    end = end_of(&one, nodes, words, x, y);
                }
                if (!end) {
                    turn_along(&other, planes, words);
                    go_along(&other, active, words);
                    end = end_of(&other, nodes, words, x, y);
                }
                if (!end) {
                    turn_along(&one, planes, words);
                    turn_down(&other, planes, words);
                }
            } while (!end);
            found |= (end & 1) << bit;
        }
        loops[at] = found;
        counts[at] = bit_count(found);
    }
}
