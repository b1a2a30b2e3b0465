<%page args="winkler=False, bits=8, variant='serial', wg_size=1, items_per_thread=8"/>\
<%
    vectors = items_per_thread // 4
    lane = {8: "ulong4", 16: "ushort16", 32: "uint8", 64: "ulong4"}[bits]
    ones = hex(sum(1 << at for at in range(0, 64, bits))) + "ul"
    # of fields of eight bits: the highest bit stays 0, see matrix_words
    low = f" & {hex(sum(127 << at for at in range(0, 64, 8)))}ul" if bits == 8 else ""
%>\
// matrix_jaro: the similarities of Jaro, or of Jaro and Winkler, of all pairs of short sequences.
//
// Rows pass tables of columns in lanes, as in matrix_words. A letter of a row has the first equal letter of the column
// that no other letter has and that is at most `reach` away. A second pass takes both sequences' letters that have one,
// in their order, and counts those that differ.
//
//   reach    greatest length / 2 - 1: `window` has the bits of rows j - reach .. j + reach of column j, and grows until
//            `wait`, the columns before reach, is 0
//
// Rows are sorted by length. Cost: 20 operations for each letter of a row and vector of 256 / BITS columns, and 4
// divisions for each pair. Sources: Jaro, "Advances in record-linkage methodology" (1989); Winkler, "String comparator
// metrics and enhanced decision rules" (1990); by words of bits as in Bachmann's rapidfuzz.
#define WG_SIZE ${wg_size}
#define BITS ${bits}
#define WORDS ${items_per_thread}
#define VECTORS ${vectors}
#define LANES ${items_per_thread * 64 // bits}u
#define ONES ${ones}
#define MOST_ROW 64
typedef ${lane} word_t;
#include "portable.h"
#include "sequences/lanes.h"

% if low:
#define HIGH (ONES << 7)
// All bits of the lanes that are not 0, and the lowest bit of each. Lanes have 7 bits.
inline word_t nonzero(const word_t x) { const word_t all = ((x | HIGH) - ONES) & HIGH; return (all - (all >> 7)) | all; }
inline word_t lowest(const word_t x) { return x & ~((x | HIGH) - ONES); }
% else:
inline word_t nonzero(const word_t x) { return as_${lane}(x != (word_t)0); }
inline word_t lowest(const word_t x) { return x & ((word_t)0 - x); }
% endif
#define ONE ((word_t)(${"ONES" if low else "1"}))
#define FIELD(array, l) ((uint)(((private const ulong *)(array))[(l) * BITS / 64] >> ((l) * BITS % 64)) & ${(1 << min(bits, 16)) - 1})

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void matrix_jaro(global const uchar *letters, const uint least, const uint symbols,
                 global const uint *rows, global const uint *row_order, const uint row_count, const uint rows_each,
                 global const uint *columns, global const uint *order, const uint first, const uint stop,
                 const uint columns_each, const uint width, global double *out)
{
    const uint across = (stop - first - 1) / columns_each + 1, down = (row_count - 1) / rows_each + 1;
    for (uint task = get_global_id(0); task < across * down; task += get_global_size(0)) {
        const uint top = task / across * rows_each, bottom = min(top + rows_each, row_count);
        const uint left = first + task % across * columns_each, right = min(left + columns_each, stop);
        for (uint block = left; block < right; block += LANES) {
            ulong4 tables[256 * VECTORS], own[VECTORS], windows[VECTORS], waits[VECTORS];
            ulong4 common[VECTORS], wrong[VECTORS], same[VECTORS];
            word_t hits[MOST_ROW * VECTORS];
            uint places[LANES], sizes[LANES];
            fill_table(letters, least, symbols, columns, order, block, right - 1, tables, own, places, sizes);
            uint last = UINT_MAX;                              // length of the row before
            for (uint p = top; p < bottom; ++p) {
                const uint row = row_order[p], count = rows[row + 1] - rows[row];
                global const uchar *text = letters + rows[row];
                if (count != last) {
                    for (uint q = 0; q < VECTORS; ++q)
                        windows[q] = waits[q] = 0;
                    for (uint l = 0; l < LANES; ++l) {
                        const uint most = max(count, sizes[l]);
                        const uint reach = most < 2 ? 0 : most / 2 - 1, bits = min(reach + 1, ${"7u" if low else "(uint)BITS"});
                        const uint word = l * BITS / 64, shift = l * BITS % 64;
                        ((private ulong *)windows)[word] |= ULONG_MAX >> (64 - bits) << shift;
                        ((private ulong *)waits)[word] |= (ulong)reach << shift;
                    }
                    last = count;
                }
% for q in range(vectors):
                word_t taken_${q} = 0, window_${q} = as_${lane}(windows[${q}]), wait_${q} = as_${lane}(waits[${q}]);
% endfor
                for (uint j = 0; j < count; ++j) {
                    private const ulong4 *equals = tables + (text[j] - least) * VECTORS;
% for q in range(vectors):
                    {
                        const word_t mine = lowest(as_${lane}(equals[${q}]) & window_${q} & ~taken_${q});
                        taken_${q} |= mine;
                        hits[j * VECTORS + ${q}] = nonzero(mine);
                        const word_t more = nonzero(wait_${q}) & ONE;
                        window_${q} = ((window_${q} << 1) | more)${low};
                        wait_${q} -= more;
                    }
% endfor
                }
% for q in range(vectors):
                word_t left_${q} = taken_${q}, wrong_${q} = 0;
                common[${q}] = counts_of(as_ulong4(taken_${q}));
% endfor
                for (uint j = 0; j < count; ++j) {
                    private const ulong4 *equals = tables + (text[j] - least) * VECTORS;
% for q in range(vectors):
                    {
                        const word_t mine = lowest(left_${q}) & hits[j * VECTORS + ${q}];
                        left_${q} ^= mine;
                        wrong_${q} |= mine & ~as_${lane}(equals[${q}]);
                    }
% endfor
                }
% for q in range(vectors):
                wrong[${q}] = counts_of(as_ulong4(wrong_${q}));
% endfor
% if winkler:
                for (uint q = 0; q < VECTORS; ++q) {           // letters that both begin with, at most four
                    ulong4 equal = ONES;
                    same[q] = 0;
                    for (uint j = 0; j < min(count, 4u); ++j) {
                        equal &= tables[(text[j] - least) * VECTORS + q] >> j;
                        same[q] += equal;
                    }
                }
% endif
                global double *values = out + (ulong)row * width;
                for (uint l = 0; l < LANES; ++l) {
                    const uint both = FIELD(common, l), size = sizes[l];
                    double value = size + count == 0 ? 1 : 0;
                    if (both > 0) {
                        const uint swapped = FIELD(wrong, l) / 2;
                        value = (double)both / (double)size + (double)both / (double)count;
                        value = (value + (double)(both - swapped) / (double)both) / 3.0;
% if winkler:
                        if (value > 0.7) {
                            const double more = (double)FIELD(same, l) * 0.1 * (1.0 - value);
                            value = fmin(value + more, 1.0);
                        }
% endif
                    }
                    values[places[l]] = value;
                }
            }
        }
    }
}
