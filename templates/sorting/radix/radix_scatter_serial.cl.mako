<%page args="key_bits=32, key_float=0, load='keys', store='same', stored_bits=32, payload='', payload_bits=32, payload_out_bits=32, radix_bits=8, variant='serial', wg_size=1, items_per_thread=1"/>\
// radix_scatter: moves every key and its payload to its index by one digit; equal digits keep their order (third launch of
// a radix pass). The version of CPUs: a work-item goes through its share with the next index of each digit.
//
//   keys    | share of group 0 | share of group 1 | .. |
//   counts  [ digit 0: group 0, group 1 .. | digit 1: .. ]   as radix_spine leaves them
//   out     | all keys of digit 0: group 0, group 1 .. | all of digit 1: .. |
//
// Buffering whole cache lines a digit before they are written was slower (PoCL on an EPYC, 1e7 keys: 29 ms plain, 48
// buffered, 42 with non-temporal stores). The parameters are those of the group's version.
// Reads n keys and payloads, writes as many.
#include "portable.h"
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"
#define CLGEOM_LOAD_ORDERED ${int(load == "ordered")}
#define CLGEOM_STORE CLGEOM_STORE_${store}
#define CLGEOM_STORED_BITS ${stored_bits}
#include "keys/radix_digit.h"
#define CLGEOM_STORES ${int(store != "none")}
#define CLGEOM_PAYLOAD CLGEOM_PAYLOAD_${payload or "none"}
#define CLGEOM_PAYLOAD_BITS ${payload_bits}
#define CLGEOM_PAYLOAD_OUT_BITS ${payload_out_bits}
#include "keys/payload.h"
#define RADIX (1u << ${radix_bits})

// The destination of the group's first key of each digit.
inline void first_indices(uint *next, global const uint *counts, global const uint *totals)
{
    uint sum = 0;
    for (uint d = 0; d < RADIX; ++d) {
        next[d] = sum + counts[d * get_num_groups(0) + get_group_id(0)];
        sum += totals[d];
    }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void radix_scatter(global const key_t *keys,
                   PAYLOAD_PARAMETER const uint n, const uint share, const key_t flip, const uint shift, const uint mask,
                   const uint drop, global const uint *counts, global const uint *totals
                   KEYS_OUT_PARAMETER(stored_t) PAYLOAD_OUT_PARAMETER)
{
    const uint begin = min((ulong)get_group_id(0) * share, (ulong)n), end = begin + min(share, n - begin);
    uint next[RADIX];
    first_indices(next, counts, totals);
    for (uint i = begin; i < end; ++i) {
        const key_t bits = keys[i];
        const uint to = next[radix_digit(bits, flip, shift, mask)]++;
#if CLGEOM_STORES
        keys_out[to] = stored(bits, flip, drop);
#endif
#if CLGEOM_PAYLOAD
        payload_out[to] = PAYLOAD_OF(i);
#endif
    }
}
