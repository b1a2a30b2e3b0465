<%page args="key_bits=32, key_float=0, keep_keys=True, payload='', payload_bits=32, payload_out_bits=32, whole=False, capacity=2048, team=256, variant='group', wg_size=256, items_per_thread=8"/>\
// radix_segments: short segments, each sorted by itself in local memory.
//
//   keys     | segment 0 | segment 1 | .. |      segment s: offsets[s] .. offsets[s + 1), at most ${capacity} keys
//   teams    of ${team} work-items take a segment each, then those as many teams further on
//
// A stable merge sort of (ordered key, number in the segment); keys and payloads are moved at the end, from global memory.
// Runs of 8 keys, sorted by an item in registers, then of 16, 32 .. keys in local memory. A key's index in the merged run is its index in its own run plus the number
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
#define TEAM ${team}                // work-items for a segment
#define TEAMS (WG_SIZE / TEAM)
#define ITEMS (CAPACITY / TEAM)
#define RUN 8

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

// Runs of RUN keys in order, by exchanges of neighbours: equal keys stay in input order.
inline void sort_runs(local key_t *ordered, local ushort *numbers, uint count, uint lane)
{
    for (uint first = lane * RUN; first < count; first += TEAM * RUN) {
        key_t key[RUN];
        ushort number[RUN];
        for (uint k = 0; k < RUN; ++k) {
            key[k] = first + k < count ? ordered[first + k] : (key_t)~(key_t)0;
            number[k] = (ushort)(first + k);
        }
        for (uint step = 0; step < RUN; ++step)
            for (uint k = step & 1; k + 1 < RUN; k += 2) {
                const bool swaps = key[k] > key[k + 1];
                const key_t low = swaps ? key[k + 1] : key[k], high = swaps ? key[k] : key[k + 1];
                const ushort left = swaps ? number[k + 1] : number[k], right = swaps ? number[k] : number[k + 1];
                key[k] = low, key[k + 1] = high;
                number[k] = left, number[k + 1] = right;
            }
        for (uint k = 0; k < RUN && first + k < count; ++k) {
            ordered[first + k] = key[k];
            numbers[first + k] = number[k];
        }
    }
}

inline void merge_runs(local key_t *ordered, local ushort *numbers, uint count, uint width, uint lane)
{
    key_t key[ITEMS];
    ushort number[ITEMS], to[ITEMS];
    for (uint k = 0; k < ITEMS; ++k) {
        const uint i = k * TEAM + lane;
        if (i < count) {
            key[k] = ordered[i];
            number[k] = numbers[i];
            to[k] = (ushort)merged_index(ordered, count, width, key[k], i);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < ITEMS; ++k)
        if (k * TEAM + lane < count) {
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
    local key_t all_ordered[TEAMS * CAPACITY];
    local ushort all_numbers[TEAMS * CAPACITY];
    const uint team = get_local_id(0) / TEAM, lane = get_local_id(0) % TEAM;
    local key_t *ordered = all_ordered + team * CAPACITY;
    local ushort *numbers = all_numbers + team * CAPACITY;
#if WHOLE
    {
        const uint begin = 0, count = n, most = n;
#else
    for (uint first = get_group_id(0) * TEAMS; first < segments; first += get_num_groups(0) * TEAMS) {
        const uint segment = first + team, begin = offsets[min(segment, segments)];
        const uint count = offsets[min(segment + 1, segments)] - begin, most = TEAMS > 1 ? CAPACITY : count;
#endif
        for (uint i = lane; i < count; i += TEAM)
            ordered[i] = key_digits(keys[begin + i], flip) & significant;
        barrier(CLK_LOCAL_MEM_FENCE);
        sort_runs(ordered, numbers, count, lane);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint width = RUN; width < most; width *= 2)     // the same number of iterations for the whole group
            merge_runs(ordered, numbers, count, width, lane);
        for (uint i = lane; i < count; i += TEAM) {
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
