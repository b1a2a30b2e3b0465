<%page args="variant='group', wg_size=256, items_per_thread=4"/>\
// clear_words: zeros to the first n words of a buffer.
#include "portable.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void clear_words(global uint *words, const ulong n)
{
    for (ulong k = get_global_id(0); k < n; k += get_global_size(0))
        words[k] = 0;
}
