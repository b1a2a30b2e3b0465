<%page args="key_bits=32, key_float=0, variant='group', wg_size=256, items_per_thread=8"/>\
// radix_survey: facts about the keys that shorten the sort, in one pass.
//
//   keys    | share of group 0 | share of group 1 | .. |     each share is compared with the key before it
//   found   [ varying, special, descents | ... ]             three words a group, see keys/survey.h
//
// Reads n keys.
#include "portable.h"
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"
#include "keys/survey.h"
#define WG_SIZE ${wg_size}
#include "group/reduce.h"
#define ITEMS ${items_per_thread}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void radix_survey(global const key_t *keys, const uint n, const uint share, const key_t flip, const key_t significant,
                  global ulong *found)
{
    local key_t cells[3 * WG_SIZE];
    const uint lid = get_local_id(0), group = get_group_id(0);
    const uint begin = min((ulong)group * share, (ulong)n), end = begin + min(share, n - begin);
    const key_t first = key_digits(keys[0], flip);
    key_t varying = 0, special = 0, descents = 0;
    for (uint base = begin; base < end; base += WG_SIZE * ITEMS) {
        key_t mine[ITEMS], earlier[ITEMS];     // all loads are issued before the first result is used
        for (uint k = 0; k < ITEMS; ++k) {
            const uint i = min(base + k * WG_SIZE + lid, end - 1);      // a repeated key has no effect
            mine[k] = keys[i];
            earlier[k] = keys[i ? i - 1 : 0];
        }
        for (uint k = 0; k < ITEMS; ++k) {
            const key_t before = key_digits(earlier[k], flip) & significant;
            const key_t own = key_digits(mine[k], flip) & significant;
            varying |= own ^ (first & significant);
            special |= SPECIAL(mine[k]);
            descents |= own < before;
        }
    }
    cells[lid] = varying;
    cells[WG_SIZE + lid] = special;
    cells[2 * WG_SIZE + lid] = descents;
    GROUP_REDUCE(lid, other,
                 for (uint word = 0; word < 3; ++word) cells[word * WG_SIZE + lid] |= cells[word * WG_SIZE + other]);
    if (lid == 0)
        store_found(found + 3 * group, cells[0], cells[WG_SIZE], cells[2 * WG_SIZE]);
}
