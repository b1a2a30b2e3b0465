<%page args="value='uint', to='0', variant='group', wg_size=1, items_per_thread=1"/>\
// set_value: one element, the start of a scan over a single tile.
#include "portable.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void set_value(global ${value} *out)
{
    if (get_global_id(0) == 0)
        out[0] = ${to};
}
