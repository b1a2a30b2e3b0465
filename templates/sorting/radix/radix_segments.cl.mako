<%page args="key_bits=32, key_float=0, keep_keys=True, payload='', payload_bits=32, payload_out_bits=32, whole=False, capacity=2048, variant='group', wg_size=256, items_per_thread=8"/>\
// radix_segments: short segments, each sorted by itself in local memory.
//
//   keys     | segment 0 | segment 1 | .. |      segment s: offsets[s] .. offsets[s + 1), at most ${capacity} keys
//   group g  takes segments g, g + groups, ..
//
// A stable merge sort of (ordered key, number in the segment); keys and payloads are moved at the end, from global memory.
// Runs of 1, 2, 4 .. keys in local memory. A key's index in the merged run is its index in its own run plus the number
// of keys of the other run that go before it, found by bisection: the left run's keys go before equal ones.
//
// whole: one segment of n keys, without offsets. payload as in radix_scatter. Reads and writes each key once
// (payloads too), and the keys that were kept once more.
#include "portable.h"
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"
#include "keys/bits.h"
#define CLGEOM_STORES ${int(keep_keys)}
#define CLGEOM_PAYLOAD CLGEOM_PAYLOAD_${payload or "none"}
#define CLGEOM_PAYLOAD_BITS ${payload_bits}
#define CLGEOM_PAYLOAD_OUT_BITS ${payload_out_bits}
#include "keys/payload.h"
#include "keys/bisect.h"
#define WHOLE ${int(whole)}
#define WG_SIZE ${wg_size}
#define CAPACITY ${capacity}
#define ITEMS (CAPACITY / WG_SIZE)

// Whether a key of the other run goes before `key`.
#define BEFORE(k) (uint)(is_left ? (k) < key : (k) <= key)

// The destination of `key`, at index i, when pairs of runs of `width` keys are merged.
inline uint merged_index(local const key_t *ordered, uint count, uint width, key_t key, uint i)
{
    const uint own = i / width * width, is_left = (i / width & 1u) == 0;
    const uint other = is_left ? min(own + width, count) : own - width;
    const uint keys = (is_left ? min(own + 2 * width, count) : own) - other;
    uint low = other;
    EACH_HALF(length, keys)
        low += HALVED(length, BEFORE(ordered[low + length / 2 - 1]));
    if (keys)
        low += BEFORE(ordered[low]);
    return (is_left ? i : i - width) + (low - other);
}

inline void merge_runs(local key_t *ordered, local ushort *numbers, uint count, uint width, uint lid)
{
    key_t key[ITEMS];
    ushort number[ITEMS], to[ITEMS];
    for (uint k = 0; k < ITEMS; ++k) {
        const uint i = k * WG_SIZE + lid;
        if (i < count) {
            key[k] = ordered[i];
            number[k] = numbers[i];
            to[k] = (ushort)merged_index(ordered, count, width, key[k], i);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < ITEMS; ++k)
        if (k * WG_SIZE + lid < count) {
            ordered[to[k]] = key[k];
            numbers[to[k]] = number[k];
        }
    barrier(CLK_LOCAL_MEM_FENCE);
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
#if WHOLE
void radix_segments(global const key_t *keys, PAYLOAD_PARAMETER const uint n,
#else
void radix_segments(global const key_t *keys, PAYLOAD_PARAMETER global const uint *offsets, const uint segments,
#endif
                    const key_t flip, const key_t significant KEYS_OUT_PARAMETER(key_t) PAYLOAD_OUT_PARAMETER)
{
    local key_t ordered[CAPACITY];
    local ushort numbers[CAPACITY];
    const uint lid = get_local_id(0);
#if WHOLE
    {
        const uint begin = 0, count = n;
#else
    for (uint segment = get_group_id(0); segment < segments; segment += get_num_groups(0)) {
        const uint begin = offsets[segment], count = offsets[segment + 1] - begin;
#endif
        for (uint i = lid; i < count; i += WG_SIZE) {
            ordered[i] = key_digits(keys[begin + i], flip) & significant;
            numbers[i] = (ushort)i;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint width = 1; width < count; width *= 2)      // the same number of iterations for the whole group
            merge_runs(ordered, numbers, count, width, lid);
        for (uint i = lid; i < count; i += WG_SIZE) {
            const uint from = begin + numbers[i];
#if CLGEOM_STORES
            keys_out[begin + i] = keys[from];
#endif
#if CLGEOM_PAYLOAD
            payload_out[begin + i] = PAYLOAD_OF(from);
#endif
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
