<%page args="code_bits=32, gaps=(5, 1), tile=1024, variant='group', wg_size=64, items_per_thread=32"/>\
<%
    serial = variant == "serial"
%>\
// shell_auto_windows: sorts windows of rows that overlap by a proven bound, and keeps the core of each: no iteration.
//
//   rows     | halo |        core        | halo |                    window w, from row w * core - halo on
//                            | halo |        core        | halo |    window w + 1
//
// No element moves further than `halo` rows, so sorting a window puts the right elements into its core (the proof is
// in docs/shellsort.rst). Rows before the first are 0 and those beyond the end are all ones: they stay where they are.
% if serial:
// Rows here are single elements (gap 1). LANES windows lie side by side, one a lane, in memory that fits the cache:
// every gap from GAPS[first_gap] on then works on whole vectors.
//
//   window   | w0[0] w1[0] .. w7[0] | w0[1] w1[1] .. w7[1] | ..      `rows` rows
% else:
//
//   group    | c c+1 .. c+width-1 |  `width` (a power of two) neighbouring columns of gap `gap`; with gap 1 and width 1 a plain stretch
//   local    | row 0 | row 1 | ..    at most TILE elements; then sorted at gaps GAPS[first_gap] * width and on
//
// Each gap: items sort blocks of BLOCK rows in registers, then merge neighbouring halves of blocks where they are out
// of order, until a round finds nothing to do.
% endif
// Reads rows / core elements for each that it writes.
typedef ${"uint" if code_bits == 32 else "ulong"} code_t;
#define CODE_BITS ${code_bits}
#define LAST_CODE (~(code_t)0)
constant uint GAPS[] = {${", ".join(map(str, gaps))}};
#define GAP_COUNT ${len(gaps)}
% if serial:
#include "keys/shell_lanes.h"

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void shell_auto_windows(global const code_t *codes, const uint n, const uint rows, const uint halo,
                        const uint first_gap, global code_t *windows, global code_t *out)
{
    const uint core = rows - 2 * halo;
    global code_t *window = windows + (ulong)get_group_id(0) * rows * LANES;
    const ulong span = (ulong)core * LANES;
    for (ulong start = get_group_id(0) * span; start < n; start += get_num_groups(0) * span) {
        for (uint lane = 0; lane < LANES; ++lane) {
            const ulong top = start + lane * (ulong)core;   // of the core
            if (top >= halo && top - halo + rows <= n) {
                for (uint i = 0; i < rows; ++i)
                    window[i * LANES + lane] = codes[top - halo + i];
            } else {
                for (uint i = 0; i < rows; ++i) {
                    const long at = (long)(top + i) - halo;
                    window[i * LANES + lane] = at < 0 ? 0 : at < n ? codes[at] : LAST_CODE;
                }
            }
        }
        for (uint g = first_gap; g < GAP_COUNT; ++g) {
            const uint gap = GAPS[g];
            uint i = 0;
            for (; i + 4 * gap <= rows; i += 4 * gap)
                for (uint column = 0; column < gap; ++column)
                    lanes_insert_four(window + column * LANES, window + (i + column) * LANES, gap * LANES);
            for (; i < rows; ++i)
                lanes_insert(window, window + i * LANES, gap * LANES);
        }
        for (uint lane = 0; lane < LANES; ++lane) {
            const ulong top = start + lane * (ulong)core;
            const uint count = top + core <= n ? core : top < n ? (uint)(n - top) : 0;
            for (uint i = 0; i < count; ++i)
                out[top + i] = window[(halo + i) * LANES + lane];
        }
    }
}
% else:
#define WG_SIZE ${wg_size}
#define BLOCK ${items_per_thread}   // rows that an item sorts in registers
#define TILE ${tile}
#define PADDED(i) ((i) + ((i) >> 5))   // spreads strides that are multiples of 32 over the banks
#include "keys/shell_network.h"

inline code_t tile_get(local const code_t *codes, const uint size, const uint i)
{
    return i < size ? codes[PADDED(i)] : LAST_CODE;
}

inline void tile_set(local code_t *codes, const uint size, const uint i, const code_t code)
{
    if (i < size)
        codes[PADDED(i)] = code;
}

// Sort the columns of the first `size` elements whose rows are `stride` apart. *round counts the rounds of the whole
// kernel, and changed[round % 2] is the last one that changed something: with two of them, the next round writes
// another than the one that slower items still read. All items call this and return together.
inline void group_sort_columns(local code_t *codes, const uint size, const uint stride, uint *round,
                               local uint *changed)
{
    const uint lid = get_local_id(0);
    const uint blocks = (size + stride * BLOCK - 1) / (stride * BLOCK);
    for (uint unit = lid; unit < stride * blocks; unit += WG_SIZE) {
        const uint first = unit / stride * (BLOCK * stride) + unit % stride;
        code_t k[BLOCK];
% for i in range(items_per_thread):
        k[${i}] = tile_get(codes, size, first + ${i} * stride);
% endfor
        SORT_${items_per_thread}(k, 0)
% for i in range(items_per_thread):
        tile_set(codes, size, first + ${i} * stride, k[${i}]);
% endfor
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    // Half blocks are in order from here on. A round that changes nothing has found every half in order with the
    // next: the round before (or the sort above) left the pairs of the other offset so.
    uint offset = BLOCK / 2, again = 1;
    while (again) {
        ++*round;
        for (uint unit = lid; unit < stride * blocks; unit += WG_SIZE) {
            const uint first = (unit / stride * BLOCK + offset) * stride + unit % stride;
            const uint middle = first + BLOCK / 2 * stride;
            if (middle < size && codes[PADDED(middle - stride)] > codes[PADDED(middle)]) {
                changed[*round % 2] = *round;
                code_t k[BLOCK];
% for i in range(items_per_thread):
                k[${i}] = tile_get(codes, size, first + ${i} * stride);
% endfor
                MERGE_${items_per_thread}(k, 0, 1)
% for i in range(items_per_thread):
                tile_set(codes, size, first + ${i} * stride, k[${i}]);
% endfor
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        again = changed[*round % 2] == *round;
        offset = BLOCK / 2 - offset;
    }
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void shell_auto_windows(global const code_t *codes, const uint n, const uint gap, const uint width_bits,
                        const uint halo, const uint core, const uint first_gap, global code_t *out)
{
    local code_t local_codes[PADDED(TILE)];
    local uint local_changed[2];
    const uint lid = get_local_id(0), size = (core + 2 * halo) << width_bits;
    const uint width = 1u << width_bits, strips = (gap + width - 1) / width;
    const uint left = get_group_id(0) % strips * width;
    const ulong top = (ulong)(get_group_id(0) / strips) * core;
    if (lid == 0)
        local_changed[0] = local_changed[1] = 0;
    for (uint i = lid; i < size; i += WG_SIZE) {
        const long row = (long)top + (i >> width_bits) - halo;
        const uint column = left + (i & (width - 1));
        const long at = row * gap + column;
        local_codes[PADDED(i)] = row < 0 ? 0 : column < gap && at < n ? codes[at] : LAST_CODE;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint round = 0;
    for (uint g = first_gap; g < GAP_COUNT; ++g)
        group_sort_columns(local_codes, size, GAPS[g] * width, &round, local_changed);
    for (uint i = halo * width + lid; i < (halo + core) * width; i += WG_SIZE) {
        const ulong row = top + (i >> width_bits) - halo;
        const uint column = left + (i & (width - 1));
        if (column < gap && row * gap + column < n)
            out[row * gap + column] = local_codes[PADDED(i)];
    }
}
% endif
