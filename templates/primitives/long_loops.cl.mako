<%page args="variant='group', wg_size=1, items_per_thread=1"/>\
// long_loops: loops that are as long, and differ as much between work-items, as in other kernels, to test a device.
//
//   bounds   | b0 b1 .. |                work-item i makes b_i rounds
//   out      | s0 s1 .. | r0 r1 .. |     a sum that depends on every round; the rounds of a loop with a loop in it
//
// A runtime was found to end all loops of a work-item after 65,535 rounds in all, and to count rounds of lanes of its
// vectors that belong to no work-item.
#include "portable.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void long_loops(global const uint *bounds, const uint n, global uint *out)
{
    const uint i = get_global_id(0), bound = i < n ? bounds[i] : 0, most = bounds[0] - bound;
    uint sum = i, low = 0, rounds = 0;
    for (uint k = 0; k < bound; ++k)
        sum = sum * 1664525u + k;
    while (low < most)                     // none for the first item; in lanes beyond the group `most` is any number
        low += 1 + low / 3;
    for (low = 0; low < 1000; ++rounds) {
        uint odd = 0;
        while (odd < bound % 2)
            ++odd;
        low += 1 + odd;
    }
    if (i < n) {
        out[i] = sum;
        out[n + i] = rounds;
    }
}
