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
#define ORDER ${int(bool(order))}
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "group/share.h"
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"
#include "keys/bisect.h"

#define SEARCHES (CLGEOM_SERIAL ? 8 : 1)

// Whether the answer lies behind a key of the haystack.
#define BEHIND(key, needle) ((uint)((key) < (needle)) | (right & (uint)((key) == (needle))))
#if ORDER
#define HAY(at) key_digits(haystack[min((ulong)order[at], (ulong)n - 1)], flip)
#else
#define HAY(at) key_digits(haystack[at], flip)
#endif

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void search_sorted(global const key_t *haystack, const uint n, const key_t flip, global const key_t *needles,
                   const uint m, const uint right, global ${index} *found
#if ORDER
                   , global const ${order or "uint"} *order
#endif
                   )
{
    EACH_OF(ulong, at, (ulong)m / SEARCHES + (m % SEARCHES != 0), get_global_id(0), get_global_size(0)) {
        const ulong i = at * SEARCHES;
        key_t needle[SEARCHES];
        uint low[SEARCHES];
        for (uint s = 0; s < SEARCHES; ++s) {
            needle[s] = key_digits(needles[min(i + s, (ulong)m - 1)], flip);
            low[s] = 0;
        }
        EACH_HALF(length, n)
            for (uint s = 0; s < SEARCHES; ++s) {
                const key_t key = HAY(low[s] + length / 2 - 1);
                low[s] += HALVED(length, BEHIND(key, needle[s]));
            }
        for (uint s = 0; s < SEARCHES && i + s < m; ++s) {
            if (n) {
                const key_t key = HAY(low[s]);
                low[s] += BEHIND(key, needle[s]);
            }
            found[i + s] = low[s];
        }
    }
}
