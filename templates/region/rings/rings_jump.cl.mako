<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// rings_jump: pointer jumping along rings: a round doubles the number of edges that an edge knows.
//
//   edge e knows     e -> . -> . -> . -> jump          after round r: WALKED 2^r edges
//   it reads         jump -> . -> . -> . -> further    and knows twice as many
//   state            (jump, least edge, corners before the least edge, corners of all)
//
// The first round walks: a few steps read less than the rounds that they replace. A round in which no edge finds a lesser
// one is the last: its work-items say so in `changed`, and later rounds do nothing. The states before and after it name the
// same least edges.
// J. JaJa, "An Introduction to Parallel Algorithms" (1992), 2.2 and 3.1. Reads and writes 32 bytes an edge.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define WALKED 8

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rings_jump(global const uint *following, global const uchar *turns, const uint n, const uint round,
                global const uint4 *known, global uint4 *states, global uint *changed)
{
    if (round > 0 && !changed[round - 1])
        return;
    for (uint edge = get_global_id(0); edge < n; edge += get_global_size(0)) {
        uint4 own;
        if (round == 0) {
            own = (uint4)(following[edge], edge, 0, 2 * (turns[edge] & 1));
            for (uint step = 1; step < WALKED; ++step) {
                if (own.x < own.y) {
                    own.y = own.x;
                    own.z = own.w;
                }
                own.w += 2 * (turns[own.x] & 1);
                own.x = following[own.x];
            }
        } else {
            own = known[edge];
            const uint4 next = known[own.x];
            if (next.y < own.y) {
                own.y = next.y;
                own.z = own.w + next.z;
                atomic_or(&changed[round], 1u);
            }
            own.x = next.x;
            own.w += next.w;
        }
        states[edge] = own;
        if (round == 0 && edge == 0)
            atomic_or(&changed[round], 1u);
    }
}
