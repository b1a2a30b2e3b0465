<%page args="number='ulong', variant='group', wg_size=256, items_per_thread=8"/>\
// batch_emit: gathers the values at the beginning of each group's slots, group after group.
//
//   slots    | a b c . . . . . | d e . | f g h i . . | ..       group k begins at starts[k]
//   before     0                 3       5                      values of the groups before it
//   values   | a b c d e f g h i ..
//   offsets    0     3   5       9 ..                           for `groups` groups and the end, in the caller's type
//
// A tile of the values to a work-group, which finds the groups that the tile's ends belong to; a CPU's item goes
// through the groups from the first on, a GPU's items search between both. Value i goes to values[first + i]. Moves 4 and
// sizeof(number_t) bytes for each value.
#define CLGEOM_SERIAL ${int(variant == 'serial')}
#include "portable.h"
#include "batch/batch_find.h"
#define WG_SIZE ${wg_size}
#define TILE (WG_SIZE * ${items_per_thread})
typedef ${number} number_t;

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void batch_emit(global const uint *slots, global const uint *starts, global const uint *before, const uint groups,
                const uint total, const uint first, const uint write_offsets, global number_t *values,
                global number_t *offsets)
{
    const uint begin = get_group_id(0) * TILE, lid = get_local_id(0);
    if (write_offsets)
        for (uint k = begin + lid; k < begin + TILE && k <= groups; k += WG_SIZE)
            offsets[k] = k < groups ? before[k] : total;
    if (begin >= total)
        return;                                    // no barrier follows
    const uint end = min(begin + TILE, total);
    uint group = row_of(before, 0, groups - 1, begin);
#if CLGEOM_SERIAL
    for (uint i = begin; i < end;) {
        const uint next = group + 1 < groups ? before[group + 1] : total;
        global const uint *from = slots + starts[group] - before[group];
        for (; i < next && i < end; ++i)
            values[first + i] = from[i];
        ++group;
    }
#else
    const uint last = row_of(before, group, groups - 1, end - 1);
    for (uint i = begin + lid; i < end; i += WG_SIZE) {
        group = row_of(before, group, last, i);
        values[first + i] = slots[starts[group] + (i - before[group])];
    }
#endif
}
