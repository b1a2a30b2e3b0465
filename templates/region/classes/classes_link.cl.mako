<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// classes_link: the steps from corner to corner, each with the one before it on its arc.
//
//   o---->o            a step leaves a corner in a direction, and goes straight on to the next bend or node
//         |            before    the step before it; itself at nodes, where arcs begin
//         v            begins    the corner that it leaves, `ends` where it arrives
//         o            turns     which steps begin chains, see rings/chains.h, and which end at nodes (TAIL)
//
// Chains go backwards along arcs. They begin at tails and nodes, where a step along a column goes from one band of lines to
// another, and at the left corner of each top, which the first corner of a closed arc is. So they are short.
// Neighbours along lines follow each other; along columns words of `active` are read from line to line.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "classes/lines.h"
#include "rings/chains.h"
#include "rings/items.h"

// The next corner in a direction.
inline uint neighbour(uint corner, uint2 place, uint direction, global const uint *active, global const ulong *corners,
                      uint words)
{
    if (!(direction & 1))
        return direction ? corner - 1 : corner + 1;
    const uint bit = place.x % 32, stride = direction == 1 ? words : -words;
    uint at = place.y * words + place.x / 32;
    do
        at += stride;
    while (!(active[at] >> bit & 1));
    return (uint)corners[at] + (uint)(corners[at] >> 32) + bit_count(active[at] & ((1u << bit) - 1));
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_link(global const uint2 *places, global const uchar *kinds, global const uint *slots,
                  global const uint *active, global const ulong *corners, const uint n, const uint words,
                  global uint *before, global uint *begins, global uint *ends, global uchar *turns)
{
    const range_t items = items_of(n);
    for (uint corner = items.begin; corner < items.end; corner += items.stride) {
        const uint2 place = places[corner];
        const uint kind = kinds[corner], leaves = kind & 15, arrives = kind >> 4;
        if (IS_NODE(kind)) {
            uint step = slots[corner];
            for (uint direction = 0; direction < 4; ++direction)
                if (leaves >> direction & 1) {
                    const uint end = neighbour(corner, place, direction, active, corners, words);
                    before[step] = step;
                    begins[step] = corner;
                    ends[step] = end;
                    turns[step] = CORNERS | FIRST | (IS_NODE(kinds[end]) ? TAIL : 0);
                    ++step;
                }
        } else {
            const uint to = highest_bit(leaves), from = highest_bit(arrives), step = slots[corner];
            const uint end = neighbour(corner, place, to, active, corners, words);
            before[step] = step_of(kinds, slots, neighbour(corner, place, from, active, corners, words), (from + 2) % 4);
            begins[step] = corner;
            ends[step] = end;
            const int is_tail = IS_NODE(kinds[end]), is_far = places[end].y / CUT_ROWS != place.y / CUT_ROWS;
            const int is_top = (leaves | arrives) == 3 && (kinds[corner + 1] & 0x22);
            turns[step] = CORNERS | (is_tail || is_far || is_top ? FIRST : 0) | (is_tail ? TAIL : 0);
        }
    }
}
