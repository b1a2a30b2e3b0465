<%page args="key_bits=32, key_float=0, order='', index='uint', variant='group', wg_size=256, items_per_thread=1"/>\
// search_sorted: where keys would be inserted into sorted keys, by bisection.
//
//   haystack | 1 3 3 5 |       order: the index of each sorted key, if the haystack itself is not sorted
//   needles  | 3 9 .. |
//   found    | 1 4 .. |        right: | 3 4 .. |, behind equal keys
//
// All searches halve the same lengths, so a serial work-item does several at once: none waits for another's loads.
// Reads m needles and log2(n) keys for each, writes m indices.
#include "portable.h"
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"

#define SEARCHES ${8 if variant == "serial" else 1}

// Whether the answer lies behind a key of the haystack.
#define BEHIND(key, needle) ((uint)((key) < (needle)) | (right & (uint)((key) == (needle))))
% if order:
#define HAY(at) key_digits(haystack[min((ulong)order[at], (ulong)n - 1)], flip)
% else:
#define HAY(at) key_digits(haystack[at], flip)
% endif

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void search_sorted(global const key_t *haystack, const uint n, const key_t flip, global const key_t *needles,
                   const uint m, const uint right, global ${index} *found\
${f", global const {order} *order" if order else ""})
{
% if variant == "serial":
    const uint share = m / get_global_size(0) + (m % get_global_size(0) != 0), stride = SEARCHES;
    const ulong begin = min(get_global_id(0) * (ulong)share, (ulong)m), end = min(begin + share, (ulong)m);
% else:
    const uint stride = get_global_size(0);
    const ulong begin = get_global_id(0), end = m;
% endif
    for (ulong i = begin; i < end; i += stride) {
        key_t needle[SEARCHES];
        uint low[SEARCHES];
        for (uint s = 0; s < SEARCHES; ++s) {
            needle[s] = key_digits(needles[min(i + s, end - 1)], flip);
            low[s] = 0;
        }
        for (uint length = n; length > 1; length -= length / 2)
            for (uint s = 0; s < SEARCHES; ++s) {
                const key_t key = HAY(low[s] + length / 2 - 1);
                low[s] += (length / 2) & -BEHIND(key, needle[s]);
            }
        for (uint s = 0; s < SEARCHES && i + s < end; ++s) {
            if (n) {
                const key_t key = HAY(low[s]);
                low[s] += BEHIND(key, needle[s]);
            }
            found[i + s] = low[s];
        }
    }
}
