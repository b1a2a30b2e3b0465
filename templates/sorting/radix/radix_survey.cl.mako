<%page args="key_bits=32, key_float=0, variant='group', wg_size=256, items_per_thread=8"/>\
// radix_survey: what is worth knowing of the keys before they are sorted, in one read.
//
//   keys    | share of group 0 | share of group 1 | .. |     each share begins with a look at the key before it
//   found   [ varying, special, descents | ... ]             three words a group
//
// varying: bits in which some key's digits differ from those of keys[0]: a pass over other bits would change nothing.
// special: 1 if some key is -0.0 or NaN (floats), so that digits do not tell the key's bits.
// descents: 1 if some key is below the one before it. Only bits in `significant` count for varying and descents.
// Reads n keys. The serial loop has no branch and becomes vector code.
#include "portable.h"
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"
#define WG_SIZE ${wg_size}
#include "group/reduce.h"
#define ITEMS ${items_per_thread}

#if CLGEOM_KEY_FLOAT
#define SPECIAL(bits) ((key_t)((bits) == CLGEOM_KEY_SIGN) | key_nan_mask(bits))
#else
#define SPECIAL(bits) ((key_t)0)
#endif

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void radix_survey(global const key_t *keys, const uint n, const uint share, const key_t flip, const key_t significant,
                  global ulong *found)
{
    const uint lid = get_local_id(0), group = get_group_id(0);
    const uint begin = min((ulong)group * share, (ulong)n), end = begin + min(share, n - begin);
    const key_t first = key_digits(keys[0], flip);
    key_t varying = 0, special = 0, descents = 0;
% if variant == "serial":
    if (begin < end) {
        key_t before = key_digits(keys[begin ? begin - 1 : 0], flip) & significant;
        const key_t own = key_digits(keys[begin], flip) & significant;
        descents = own < before;
        varying = own ^ (first & significant);
        special = SPECIAL(keys[begin]);
    }
    global const key_t *share_keys = keys + begin;
    for (size_t i = 1; i < end - begin; ++i) {
        const key_t bits = share_keys[i];
        const key_t before = key_digits(share_keys[i - 1], flip) & significant, own = key_digits(bits, flip) & significant;
        varying |= own ^ first;
        special |= SPECIAL(bits);
        descents |= own < before;
    }
    varying &= significant;
% else:
    for (uint base = begin; base < end; base += WG_SIZE * ITEMS) {
        key_t mine[ITEMS], earlier[ITEMS];     // all loads are under way before the first is waited for
        for (uint k = 0; k < ITEMS; ++k) {
            const uint i = min(base + k * WG_SIZE + lid, end - 1);      // the last key again changes nothing
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
    local key_t cells[3 * WG_SIZE];
    cells[lid] = varying;
    cells[WG_SIZE + lid] = special;
    cells[2 * WG_SIZE + lid] = descents;
    GROUP_REDUCE(lid, other, for (uint word = 0; word < 3; ++word) cells[word * WG_SIZE + lid] |= cells[word * WG_SIZE + other]);
    varying = cells[0];
    special = cells[WG_SIZE];
    descents = cells[2 * WG_SIZE];
% endif
    if (lid == 0) {
        found[3 * group] = varying;
        found[3 * group + 1] = special != 0;
        found[3 * group + 2] = descents != 0;
    }
}
