<%page args="value='uint', variant='serial', wg_size=1, items_per_thread=1"/>\
// classes_sums: values become the sums of those before them, by one work-item: for so few that more launches take longer.
#include "portable.h"
#define WG_SIZE ${wg_size}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_sums(global ${value} *values, const uint n)
{
    ${value} sum = 0;
    for (uint i = 0; i < n; ++i) {
        const ${value} own = values[i];
        values[i] = sum;
        sum += own;
    }
}
