<%page args="value='long', variant='group', wg_size=256, items_per_thread=4, capacity=128"/>\
// batch_sizes: checks the order of offsets on the device, and classifies the groups by size.
//
//   offsets   0   3   3   9 ..  n            starts    the same as uint
//   group       0   1   2 ..                 classes   3   1   4 ..      1 + bits of the size; LARGE for more than ${capacity}
//   summary   [ lowest k whose offset is below the one before, or not the number of a point; classes that occur, a bit each;
//               groups of class LARGE ]
//
// One read of the offsets. The summary comes from atomics, one to a work-item that has something to add.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define TILE (WG_SIZE * ${items_per_thread})
#define LARGE 0
typedef ${value} value_t;

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void batch_sizes(global const value_t *offsets, const uint groups, const uint points, global uint *starts,
                 global uchar *classes, global uint *summary)
{
    uint wrong = UINT_MAX, seen = 0, large = 0;
    for (uint tile = get_group_id(0) * TILE; tile <= groups; tile += get_num_groups(0) * TILE)
        for (uint k = tile + get_local_id(0); k < tile + TILE && k <= groups; k += WG_SIZE) {
            const value_t begin = offsets[k], end = offsets[k < groups ? k + 1 : k];
            starts[k] = (uint)begin;
            if ((ulong)begin > points || (k == 0 && begin != 0) || (k == groups && (ulong)begin != points))
                wrong = min(wrong, k);
            if (end < begin)
                wrong = min(wrong, k + 1);
            if (k < groups) {
                const uint size = (uint)(end - begin), class = size > ${capacity} ? LARGE : 33 - clz(size);
                classes[k] = class;
                seen |= 1u << class;
                large += class == LARGE;
            }
        }
    if (wrong != UINT_MAX)
        atomic_min(summary, wrong);
    if (seen)
        atomic_or(summary + 1, seen);
    if (large)
        atomic_add(summary + 2, large);
}
