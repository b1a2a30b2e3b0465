<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// row_bounds: where sequences of one length begin and end: bounds[i] = i * width, for i = 0 .. count.
#include "portable.h"
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "group/share.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void row_bounds(const uint width, const uint count, global uint *bounds)
{
    EACH_OF(ulong, i, (ulong)count + 1, get_global_id(0), get_global_size(0))
        bounds[i] = (uint)i * width;
}
