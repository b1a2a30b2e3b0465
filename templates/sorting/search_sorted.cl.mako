<%page args="key_bits=32, key_float=0, order='', index='uint', variant='group', wg_size=256, items_per_thread=1"/>\
// search_sorted: where keys would be inserted into sorted keys, by bisection.
//
//   haystack | 1 3 3 5 |       order: the index of each sorted key, if the haystack itself is not sorted
//   needles  | 3 9 .. |
//   found    | 1 4 .. |        right: | 3 4 .. |, behind equal keys
//
// Reads m needles and log2(n) keys for each, writes m indices.
#include "portable.h"
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void search_sorted(global const key_t *haystack, const uint n, const key_t flip, global const key_t *needles,
                   const uint m, const uint right, global ${index} *found\
${f", global const {order} *order" if order else ""})
{
% if variant == "serial":
    const uint share = (m + get_global_size(0) - 1) / get_global_size(0);
    const uint begin = min((uint)get_global_id(0) * share, m), end = min(begin + share, m), stride = 1;
% else:
    const uint begin = get_global_id(0), end = m, stride = get_global_size(0);
% endif
    for (uint i = begin; i < end; i += stride) {
        const key_t needle = key_digits(needles[i], flip);
        uint low = 0, length = n;
        while (length) {
            const uint half_length = length / 2, middle = low + half_length;
% if order:
            const key_t key = key_digits(haystack[min((ulong)order[middle], (ulong)n - 1)], flip);
% else:
            const key_t key = key_digits(haystack[middle], flip);
% endif
            const uint before = (key < needle) | (right & (key == needle));
            low = before ? middle + 1 : low;
            length = before ? length - half_length - 1 : half_length;
        }
        found[i] = low;
    }
}
