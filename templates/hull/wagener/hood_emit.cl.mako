<%page args="variant='group', wg_size=64, items_per_thread=1"/>\
// hood_emit: the vertices of the hull from the runs of both hoods, counter-clockwise; a work-group per run.
//
//   state, offsets, shape   as hood_layout has them
//   vertices  [ lower without its last | upper, right to left, without its first ]     or one hood when both are equal
//
// Reads and writes each vertex once.
#include "portable.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void hood_emit(global const uint *corners, const uint n, global const uint *state, const uint blocks,
               global const uint *offsets, global const uint *shape, global const uint *ids, global uint *vertices)
{
    const uint total = shape[0], turn_at = shape[1] < 2 ? total : shape[2] - 1;
    for (uint index = get_group_id(0); index < 2 * blocks; index += get_num_groups(0)) {
        const int upper = index >= blocks;
        if (index - upper * blocks >= state[2 * blocks + upper * blocks])
            continue;
        const uint2 range = vload2(upper * blocks + state[index], state + 4 * blocks);
        const uint offset = offsets[index];
        global const uint *const side = corners + (upper ? (ulong)n : 0);
        for (uint k = range.x + get_local_id(0); k <= range.y; k += ${wg_size}) {
            const uint corner = offset + (k - range.x), at = upper ? total - corner : corner;
            if (upper ? at < total && shape[1] == 2 : at < turn_at)       // the hoods share their ends
                vertices[at] = ids[side[k]];
        }
    }
}
