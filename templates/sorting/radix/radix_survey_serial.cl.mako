<%page args="key_bits=32, key_float=0, variant='serial', wg_size=1, items_per_thread=1"/>\
// radix_survey: facts about the keys that shorten the sort, in one pass. The version of CPUs.
//
//   keys    | share of group 0 | share of group 1 | .. |     each share is compared with the key before it
//   found   [ varying, special, descents | ... ]             three words a group, see keys/survey.h
//
// Reads n keys. The loop has no branch and is vectorised.
#include "portable.h"
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"
#include "keys/survey.h"

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void radix_survey(global const key_t *keys, const uint n, const uint share, const key_t flip, const key_t significant,
                  global ulong *found)
{
    const uint group = get_group_id(0);
    const uint begin = min((ulong)group * share, (ulong)n), end = begin + min(share, n - begin);
    const key_t first = key_digits(keys[0], flip);
    key_t varying = 0, special = 0, descents = 0;
    if (begin < end) {
        const key_t before = key_digits(keys[begin ? begin - 1 : 0], flip) & significant;
        const key_t own = key_digits(keys[begin], flip) & significant;
        descents = own < before;
        varying = own ^ (first & significant);
        special = SPECIAL(keys[begin]);
    }
    global const key_t *share_keys = keys + begin;
    for (size_t i = 1; i < end - begin; ++i) {
        const key_t bits = share_keys[i];
        const key_t before = key_digits(share_keys[i - 1], flip) & significant;
        const key_t own = key_digits(bits, flip) & significant;
        varying |= own ^ first;
        special |= SPECIAL(bits);
        descents |= own < before;
    }
    store_found(found + 3 * group, varying & significant, special, descents);
}
