<%page args="code_bits=32, gaps=(5, 1), tile=1024, variant='group', wg_size=64, items_per_thread=32"/>\
// shell_auto_windows: sorts windows of rows that overlap by a proven bound, and keeps the core of each: no iteration.
//
//   rows     | halo |        core        | halo |                    window w, from row w * core - halo on
//                            | halo |        core        | halo |    window w + 1
//
// No element moves further than `halo` rows, so sorting a window puts the right elements into its core (the proof is
// in docs/explanation/shellsort.rst). Rows before the first are 0 and those beyond the end are all ones: they do not
// move.
//
//   group    | s s+1 .. s+width-1 |  `width` (a power of two) neighbouring h-subsequences of gap `gap`; with gap 1 and
//                                    width 1 a plain stretch
//   local    | row 0 | row 1 | ..    at most TILE elements; then sorted at gaps GAPS[first_gap] * width and on
//
// Each gap: items sort blocks of BLOCK rows in registers, then merge neighbouring halves of blocks where they are out
// of order, until a round changes nothing. Reads rows / core elements for each that it writes.
typedef ${"uint" if code_bits == 32 else "ulong"} code_t;
#define LAST_CODE (~(code_t)0)
constant uint GAPS[] = {${", ".join(map(str, gaps))}};
#define GAP_COUNT ${len(gaps)}
#define WG_SIZE ${wg_size}
#define BLOCK ${items_per_thread}   // rows that an item sorts in registers
#define TILE ${tile}
#define PADDED(i) ((i) + ((i) >> 5))   // spreads strides that are multiples of 32 over the banks
#include "portable.h"
#include "keys/shell_network.h"

// BLOCK elements from `first` on, `stride` apart; all ones beyond the end.
inline void load_block(local const code_t *codes, uint size, uint first, uint stride, code_t *k)
{
% for i in range(items_per_thread):
    k[${i}] = first + ${i} * stride < size ? codes[PADDED(first + ${i} * stride)] : LAST_CODE;
% endfor
}

inline void store_block(const code_t *k, uint size, uint first, uint stride, local code_t *codes)
{
% for i in range(items_per_thread):
    if (first + ${i} * stride < size)
        codes[PADDED(first + ${i} * stride)] = k[${i}];
% endfor
}

// Sort each block of rows of the first `size` elements, whose rows are `stride` apart.
inline void sort_blocks(local code_t *codes, uint size, uint stride, uint blocks, uint lid)
{
    for (uint unit = lid; unit < stride * blocks; unit += WG_SIZE) {
        const uint first = unit / stride * (BLOCK * stride) + unit % stride;
        code_t k[BLOCK];
        load_block(codes, size, first, stride, k);
        SORT_${items_per_thread}(k, 0)
        store_block(k, size, first, stride, codes);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

// Merges the ordered halves of the blocks from row `offset` on that are out of order together. Returns whether there
// were any. *round counts the rounds of the whole kernel, and changed[round % 2] is the last round that changed
// something. There are two entries, so that the next round does not overwrite the one that slower items still read.
inline uint merge_blocks(local code_t *codes, uint size, uint stride, uint blocks, uint offset, uint *round,
                         local uint *changed, uint lid)
{
    ++*round;
    for (uint unit = lid; unit < stride * blocks; unit += WG_SIZE) {
        const uint first = (unit / stride * BLOCK + offset) * stride + unit % stride;
        const uint middle = first + BLOCK / 2 * stride;
        if (middle < size && codes[PADDED(middle - stride)] > codes[PADDED(middle)]) {
            changed[*round % 2] = *round;
            code_t k[BLOCK];
            load_block(codes, size, first, stride, k);
            MERGE_${items_per_thread}(k, 0, 1)
            store_block(k, size, first, stride, codes);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return changed[*round % 2] == *round;
}

// Sort the h-subsequences of the first `size` elements for the gap `stride`. All items call this and return together.
inline void group_sort(local code_t *codes, uint size, uint stride, uint *round, local uint *changed, uint lid)
{
    const uint blocks = (size + stride * BLOCK - 1) / (stride * BLOCK);
    sort_blocks(codes, size, stride, blocks, lid);
    // Half blocks are in order from here on. After a round that changes nothing, every half is in order with the
    // next one: the round before (or the sort above) ordered the pairs of the other offset.
    uint offset = BLOCK / 2;
    while (merge_blocks(codes, size, stride, blocks, offset, round, changed, lid))
        offset = BLOCK / 2 - offset;
}

kernel CLGEOM_NARROW __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
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
        const uint s = left + (i & (width - 1));
        const long at = row * gap + s;
        local_codes[PADDED(i)] = row < 0 ? 0 : s < gap && at < n ? codes[at] : LAST_CODE;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint round = 0;
    for (uint g = first_gap; g < GAP_COUNT; ++g)
        group_sort(local_codes, size, GAPS[g] * width, &round, local_changed, lid);
    for (uint i = halo * width + lid; i < (halo + core) * width; i += WG_SIZE) {
        const ulong row = top + (i >> width_bits) - halo;
        const uint s = left + (i & (width - 1));
        if (s < gap && row * gap + s < n)
            out[row * gap + s] = local_codes[PADDED(i)];
    }
}
