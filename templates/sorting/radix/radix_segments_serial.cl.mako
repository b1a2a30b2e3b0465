<%page args="key_bits=32, key_float=0, keep_keys=True, payload='', payload_bits=32, payload_out_bits=32, whole=False, capacity=2048, team=1, variant='serial', wg_size=1, items_per_thread=1"/>\
// radix_segments: short segments, each sorted by itself by one work-item. The version of CPUs.
//
//   keys     | segment 0 | segment 1 | .. |      segment s: offsets[s] .. offsets[s + 1), at most ${capacity} keys
//   group g  takes segments g, g + groups, ..
//
// A stable sort of (ordered key, number in the segment) between two private arrays; keys and payloads are moved at the
// end, from global memory.
//   up to MERGED keys    insert_runs of 16 keys, then merge_runs of 16, 32 .. keys
//   longer segments      count_digits of 8 bits, then move_digits, from the lowest; constant digits are skipped
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
#define WHOLE ${int(whole)}
#define CAPACITY ${capacity}
#define RUN 16
#define MERGED 512
#define DIGITS (CLGEOM_KEY_BITS / 8)
#define DIGIT(key, d) ((key) >> 8 * (d) & 255)

// Ordered keys of a segment, and the number of each in the segment.
typedef struct { key_t *keys; ushort *numbers; } run_t;

inline void swap_sides(run_t *from, run_t *to)
{
    const run_t other = *from;
    *from = *to;
    *to = other;
}

// Runs of RUN keys, each in order.
inline void insert_runs(global const key_t *keys, uint count, key_t flip, key_t significant, run_t runs)
{
    for (uint first = 0; first < count; first += RUN)
        for (uint i = first; i < min(first + RUN, count); ++i) {
            const key_t key = key_digits(keys[i], flip) & significant;
            uint to = i;
            for (; to > first && runs.keys[to - 1] > key; --to) {
                runs.keys[to] = runs.keys[to - 1];
                runs.numbers[to] = runs.numbers[to - 1];
            }
            runs.keys[to] = key;
            runs.numbers[to] = (ushort)i;
        }
}

// Pairs of runs of `width` keys merged; the left one's go before equal ones.
inline void merge_runs(run_t from, uint count, uint width, run_t to)
{
    for (uint first = 0; first < count; first += 2 * width) {
        uint left = first, right = min(first + width, count);
        const uint middle = right, end = min(first + 2 * width, count);
        for (uint i = first; i < end; ++i) {
            const bool take_left = right >= end || (left < middle && from.keys[left] <= from.keys[right]);
            const uint taken = take_left ? left : right;
            to.keys[i] = from.keys[taken];
            to.numbers[i] = from.numbers[taken];
            left += take_left;
            right += !take_left;
        }
    }
}

// The number of keys with each value of each digit.
inline void count_digits(global const key_t *keys, uint count, key_t flip, key_t significant, run_t all,
                         uint (*counts)[256])
{
    for (uint k = 0; k < DIGITS * 256; ++k)
        counts[k / 256][k % 256] = 0;
    for (uint i = 0; i < count; ++i) {
        const key_t key = key_digits(keys[i], flip) & significant;
        all.keys[i] = key;
        all.numbers[i] = (ushort)i;
        for (uint d = 0; d < DIGITS; ++d)
            ++counts[d][DIGIT(key, d)];
    }
}

// A stable sort of keys by digit d. The counts of its values are replaced by their end indices.
inline void move_digits(run_t from, uint count, uint d, uint *next, run_t to)
{
    for (uint k = 0, sum = 0; k < 256; ++k) {
        const uint digits = next[k];
        next[k] = sum;
        sum += digits;
    }
    for (uint i = 0; i < count; ++i) {
        const uint at = next[DIGIT(from.keys[i], d)]++;
        to.keys[at] = from.keys[i];
        to.numbers[at] = from.numbers[i];
    }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
#if WHOLE
void radix_segments(global const key_t *keys, PAYLOAD_PARAMETER const uint n,
#else
void radix_segments(global const key_t *keys, PAYLOAD_PARAMETER global const uint *offsets, const uint segments,
#endif
                    const key_t flip, const key_t significant KEYS_OUT_PARAMETER(key_t) PAYLOAD_OUT_PARAMETER)
{
    key_t key_space[2 * CAPACITY];
    ushort number_space[2 * CAPACITY];
#if WHOLE
    {
        const uint begin = 0, count = n;
#else
    for (uint segment = get_group_id(0); segment < segments; segment += get_num_groups(0)) {
        const uint begin = offsets[segment], count = offsets[segment + 1] - begin;
#endif
        run_t now = {key_space, number_space}, other = {key_space + CAPACITY, number_space + CAPACITY};
        if (count <= MERGED) {
            insert_runs(keys + begin, count, flip, significant, now);
            for (uint width = RUN; width < count; width *= 2) {
                merge_runs(now, count, width, other);
                swap_sides(&now, &other);
            }
        } else {
            uint counts[DIGITS][256];
            count_digits(keys + begin, count, flip, significant, now, counts);
            for (uint d = 0; d < DIGITS; ++d)
                if (counts[d][DIGIT(now.keys[0], d)] != count) {   // otherwise all keys have the same digit
                    move_digits(now, count, d, counts[d], other);
                    swap_sides(&now, &other);
                }
        }
        for (uint i = 0; i < count; ++i) {
            const uint from = begin + now.numbers[i];
#if CLGEOM_STORES
            keys_out[begin + i] = keys[from];
#endif
#if CLGEOM_PAYLOAD
            payload_out[begin + i] = PAYLOAD_OF(from);
#endif
        }
    }
}
