<%page args="problem='edit', value='uchar', bits=8, variant='serial', wg_size=1, items_per_thread=8"/>\
<%
    vectors = items_per_thread // 4
    # without vectors of 32 bytes, the fields of eight bits are those of longer words
    lane = {8: "ulong4", 16: "ushort16", 32: "uint8", 64: "ulong4"}[bits]
    low = f" & {hex(sum(127 << at for at in range(0, 64, 8)))}ul" if bits == 8 else ""
%>\
// matrix_words: values of all pairs of short sequences, of the edit distance or the longest common subsequence.
//
//   columns  LANES at a time, the letters of each are the rows of a table     table[letter] | field | field | .. |
//   rows     one after the other; a letter is a column of the tables of       a bit where the letter is that of the
//            all lanes at once: it looks the same bits up for all of them     column, in a field of BITS bits a lane
//
// A vector has no lanes of 8 bits in 32 bytes: they are fields of longer ones. Their highest bit stays 0 in `grow`, so
// that no sum carries into the next field, and a column has 7 letters at most. Lanes to spare repeat the last column.
// Values are bytes, of ratios doubles: out[row * width + column]. Row i is letters[rows[i] .. rows[i + 1] - 1], and
// columns alike; both have an order. A work-item takes `rows_each` rows with `columns_each` columns.
// Cost: 10 (lcs) or 18 (edit) operations for each letter of a row and vector of 256 / BITS columns.
// Sources: as of pairs_bits.
#define WG_SIZE ${wg_size}
#define WORD_BITS ${bits}
#define BITS ${bits}
#define WORDS ${items_per_thread}
#define VECTORS ${vectors}
#define LANES ${items_per_thread * 64 // bits}u
#define ONES ${hex(sum(1 << at for at in range(0, 64, bits)))}ul
typedef ${lane} word_t;
#include "portable.h"
#include "sequences/lanes.h"
#include "sequences/pairs_words.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void matrix_words(global const uchar *letters, const uint least, const uint symbols,
                  global const uint *rows, global const uint *row_order, const uint row_count, const uint rows_each,
                  global const uint *columns, global const uint *order, const uint first, const uint stop,
                  const uint columns_each, const uint width, global ${value} *out)
{
    const uint across = (stop - first - 1) / columns_each + 1, down = (row_count - 1) / rows_each + 1;
    for (uint task = get_global_id(0); task < across * down; task += get_global_size(0)) {
        const uint top = task / across * rows_each, bottom = min(top + rows_each, row_count);
        const uint left = first + task % across * columns_each, right = min(left + columns_each, stop);
        for (uint block = left; block < right; block += LANES) {
            ulong4 tables[256 * VECTORS], own[VECTORS], found[VECTORS];
            private const ulong *values_of = (private const ulong *)found;
            uint places[LANES], sizes[LANES];
            fill_table(letters, least, symbols, columns, order, block, right - 1, tables, own, places, sizes);
            for (uint p = top; p < bottom; ++p) {
                const uint row = row_order[p], count = rows[row + 1] - rows[row];
                global const uchar *text = letters + rows[row];
% for q in range(vectors):
                word_t grow_${q} = ~(word_t)0${low}, fall_${q} = 0;
% endfor
                for (uint j = 0; j < count; ++j) {
                    private const ulong4 *equals = tables + (text[j] - least) * VECTORS;
% for q in range(vectors):
                    {
                        const word_t equal = as_${lane}(equals[${q}]);
% if problem != "edit":
                        word_t plus = 0;
                        grow_${q} = lcs_word(equal, grow_${q}, &plus)${low};
% else:
                        word_t plus = ${"ONES" if bits == 8 else "1"}, minus = 0;
                        edit_word(equal, &grow_${q}, &fall_${q}, &plus, &minus);
% if low:
                        grow_${q} = grow_${q}${low};
% endif
% endif
                    }
% endfor
                }
% for q in range(vectors):
                {
                    const ulong4 mask = own[${q}], grows = as_ulong4(grow_${q}), falls = as_ulong4(fall_${q});
% if problem != "edit":
                    found[${q}] = counts_of(~grows & mask);
% else:
                    found[${q}] = count * ONES + counts_of(grows & mask) - counts_of(falls & mask);
% endif
                }
% endfor
                global ${value} *values = out + (ulong)row * width;
                #pragma unroll
                for (uint l = 0; l < LANES; ++l) {
                    const uchar value = (uchar)(values_of[l * BITS / 64] >> (l * BITS % 64));
% if problem == "ratio":
                    const double both = max(count + sizes[l], 1u);
                    values[places[l]] = (1.0 - (double)(count + sizes[l] - 2 * value) / both) * 100.0;
% else:
                    values[places[l]] = ${"count + sizes[l] - 2 * value" if problem == "indel" else "value"};
% endif
                }
            }
        }
    }
}
