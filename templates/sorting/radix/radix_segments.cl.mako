<%page args="key_bits=32, key_float=0, keep_keys=True, payload='', payload_bits=32, payload_out_bits=32, whole=False, capacity=2048, variant='group', wg_size=256, items_per_thread=8"/>\
<% unsigned = {8: "uchar", 16: "ushort", 32: "uint", 64: "ulong"} %>\
// radix_segments: short segments, each sorted by itself where the work-items can see all of it.
//
//   keys     | segment 0 | segment 1 | .. |      segment s: offsets[s] .. offsets[s + 1), at most ${capacity} keys
//   group g  takes segments g, g + groups, ..
//
// A stable merge sort of (digits, number in the segment); keys and payloads follow at the end, from global memory.
// group: runs of 1, 2, 4 .. keys in local memory. A key's place in the merged run is its place in its own run plus
// the keys of the other run that go before it, found by bisection: the left run's keys go before equal ones.
// serial: insertion sort of runs of 16, then merges between two private arrays; longer segments digit by digit.
//
// whole: one segment of n keys, without offsets. payload as in radix_scatter. Reads and writes each key once
// (payloads too), and the keys that were kept once more.
#include "portable.h"
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"
#define WG_SIZE ${wg_size}
#define CAPACITY ${capacity}
#define ITEMS (CAPACITY / WG_SIZE)
#define RUN 16
#define MERGED 512              // longer segments: by digits
#define DIGITS (CLGEOM_KEY_BITS / 8)
% if payload:
typedef ${unsigned[payload_bits]} payload_t;
typedef ${unsigned[payload_out_bits]} payload_out_t;
% endif

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
    const uint lid = get_local_id(0);
% if variant == "serial":
    key_t code_space[2 * CAPACITY];
    ushort order_space[2 * CAPACITY];
% else:
    local key_t codes[CAPACITY];
    local ushort order[CAPACITY];
% endif
% if whole:
    {
        const uint begin = 0, count = n;
% else:
    for (uint segment = get_group_id(0); segment < segments; segment += get_num_groups(0)) {
        const uint begin = offsets[segment], count = offsets[segment + 1] - begin;
% endif
% if variant == "serial":
        key_t *codes = code_space, *other_codes = code_space + CAPACITY;
        ushort *order = order_space, *other_order = order_space + CAPACITY;
#define SWAP_SIDES()                                                                       \
    {                                                                                      \
        key_t *const c = codes; codes = other_codes; other_codes = c;                      \
        ushort *const o = order; order = other_order; other_order = o;                     \
    }
        if (count <= MERGED) {
            for (uint first = 0; first < count; first += RUN)
                for (uint i = first; i < min(first + RUN, count); ++i) {
                    const key_t code = key_digits(keys[begin + i], flip) & significant;
                    uint to = i;
                    for (; to > first && codes[to - 1] > code; --to) {
                        codes[to] = codes[to - 1];
                        order[to] = order[to - 1];
                    }
                    codes[to] = code;
                    order[to] = (ushort)i;
                }
            for (uint width = RUN; width < count; width *= 2) {
                for (uint first = 0; first < count; first += 2 * width) {
                    uint left = first, right = min(first + width, count);
                    const uint middle = right, end = min(first + 2 * width, count);
                    for (uint to = first; to < end; ++to) {
                        const bool take_left = right >= end || (left < middle && codes[left] <= codes[right]);
                        const uint from = take_left ? left : right;
                        other_codes[to] = codes[from];
                        other_order[to] = order[from];
                        left += take_left;
                        right += !take_left;
                    }
                }
                SWAP_SIDES()
            }
        } else {
            uint next[DIGITS][256];
            for (uint k = 0; k < DIGITS * 256; ++k)
                next[k / 256][k % 256] = 0;
            for (uint i = 0; i < count; ++i) {
                const key_t code = key_digits(keys[begin + i], flip) & significant;
                codes[i] = code;
                order[i] = (ushort)i;
                for (uint d = 0; d < DIGITS; ++d)
                    ++next[d][code >> 8 * d & 255];
            }
            for (uint d = 0; d < DIGITS; ++d) {
                if (next[d][codes[0] >> 8 * d & 255] == count)
                    continue;                               // the same digit everywhere
                for (uint k = 0, sum = 0; k < 256; ++k) {
                    const uint digits = next[d][k];
                    next[d][k] = sum;
                    sum += digits;
                }
                for (uint i = 0; i < count; ++i) {
                    const uint to = next[d][codes[i] >> 8 * d & 255]++;
                    other_codes[to] = codes[i];
                    other_order[to] = order[i];
                }
                SWAP_SIDES()
            }
        }
% else:
        for (uint i = lid; i < count; i += WG_SIZE) {
            codes[i] = key_digits(keys[begin + i], flip) & significant;
            order[i] = (ushort)i;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint width = 1; width < count; width *= 2) {      // the same for the whole group
            key_t code[ITEMS];
            ushort number[ITEMS], place[ITEMS];
            for (uint k = 0; k < ITEMS; ++k) {
                const uint i = k * WG_SIZE + lid;
                if (i < count) {
                    const uint own = i / width * width, is_left = (i / width & 1u) == 0;
                    const uint other = is_left ? min(own + width, count) : own - width;
                    uint low = other, high = is_left ? min(own + 2 * width, count) : own;
                    code[k] = codes[i];
                    number[k] = order[i];
                    while (low < high) {                       // no barrier inside
                        const uint middle = (low + high) / 2;
                        const int before = is_left ? codes[middle] < code[k] : codes[middle] <= code[k];
                        low = before ? middle + 1 : low;
                        high = before ? high : middle;
                    }
                    place[k] = (ushort)((is_left ? i : i - width) + (low - other));
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint k = 0; k < ITEMS; ++k)
                if (k * WG_SIZE + lid < count) {
                    codes[place[k]] = code[k];
                    order[place[k]] = number[k];
                }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
% endif
        for (uint i = lid; i < count; i += WG_SIZE) {
            const uint from = begin + order[i];
% if keep_keys:
            keys_out[begin + i] = keys[from];
% endif
% if payload == "index":
            payload_out[begin + i] = from;
% elif payload == "carry":
            payload_out[begin + i] = payload[from];
% endif
        }
% if variant != "serial":
        barrier(CLK_LOCAL_MEM_FENCE);
% endif
    }
}
