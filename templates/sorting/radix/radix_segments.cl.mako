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
#define WG_SIZE ${wg_size}
#define CAPACITY ${capacity}
#define ITEMS (CAPACITY / WG_SIZE)
% if payload:
typedef bits${payload_bits}_t payload_t;
typedef bits${payload_out_bits}_t payload_out_t;
% endif

// The destination of `key`, at index i, when pairs of runs of `width` keys are merged.
inline uint merged_index(local const key_t *ordered, uint count, uint width, key_t key, uint i)
{
    const uint own = i / width * width, is_left = (i / width & 1u) == 0;
    const uint other = is_left ? min(own + width, count) : own - width;
    uint low = other, high = is_left ? min(own + 2 * width, count) : own;
    while (low < high) {                       // no barrier inside
        const uint middle = (low + high) / 2;
        const int before = is_left ? ordered[middle] < key : ordered[middle] <= key;
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
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
void radix_segments(global const key_t *keys,
% if payload == "carry":
                    global const payload_t *payload,
% endif
% if whole:
                    const uint n,
% else:
                    global const uint *offsets, const uint segments,
% endif
                    const key_t flip, const key_t significant\
% if keep_keys:
, global key_t *keys_out\
% endif
% if payload:
, global payload_out_t *payload_out\
% endif
)
{
    local key_t ordered[CAPACITY];
    local ushort numbers[CAPACITY];
    const uint lid = get_local_id(0);
% if whole:
    {
        const uint begin = 0, count = n;
% else:
    for (uint segment = get_group_id(0); segment < segments; segment += get_num_groups(0)) {
        const uint begin = offsets[segment], count = offsets[segment + 1] - begin;
% endif
        for (uint i = lid; i < count; i += WG_SIZE) {
            ordered[i] = key_digits(keys[begin + i], flip) & significant;
            numbers[i] = (ushort)i;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint width = 1; width < count; width *= 2)      // the same number of iterations for the whole group
            merge_runs(ordered, numbers, count, width, lid);
        for (uint i = lid; i < count; i += WG_SIZE) {
            const uint from = begin + numbers[i];
% if keep_keys:
            keys_out[begin + i] = keys[from];
% endif
% if payload == "index":
            payload_out[begin + i] = from;
% elif payload == "carry":
            payload_out[begin + i] = payload[from];
% endif
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
