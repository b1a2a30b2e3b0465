<%page args="problem='lcs', symbol='uchar', local_symbols=0, keep=False, blocks=32, variant='group', wg_size=64, items_per_thread=1"/>\
// bits_tiles: a diagonal of tiles of the table of two sequences, WORD_BITS cells of a column in each word.
//
//            columns  | block of 32 | block | ..          a tile: WG_SIZE * WORDS words of rows, BLOCKS blocks
//   item 0   rows     |      1      |   2   |  3          numbers: steps. At each an item takes the next block of its
//   item 1            |      2      |   3   |  4          own rows, with the carries of the item above out of that
//   item 2            |      3      |   4   |  5          block: for each column one bit (lcs) or two (edit)
//
// The carries of a tile's lowest row stay in `carries` for the tile below, its last column in `state` for the tile to the
// right. A launch computes the tiles strip + tile = diagonal. With `keep` the words of every column are stored, those of
// the same rows `pitch` words apart: lcs: as in the column. edit: bits where the distance equals that on the diagonal
// before, and bits where it grows downwards. The operations and their sources: dp/dp_bits.h.
<%
    word_bits = 64 if variant == "serial" else 32
%>\
#define KEEP ${int(keep)}
#define WG_SIZE ${wg_size}
#define WORDS ${items_per_thread}           // of a work-item, one under the other
#define WORD_BITS ${word_bits}
#define EDIT ${int(problem == "edit")}
#define BLOCKS ${blocks}u                    // of 32 columns, of a tile
#define LOCAL_SYMBOLS ${local_symbols}      // symbols whose masks are read from local memory; 0: from global
typedef ${"ulong" if word_bits == 64 else "uint"} word_t;
typedef ${symbol} symbol_t;
#include "sequences/bits_column.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void bits_tiles(global const word_t *masks, const uint words, const uint symbols,
                global const symbol_t *columns, const uint m, const ulong pitch, global uint *carries,
                global word_t *state, global word_t *kept, const uint diagonal, const uint first)
{
    local carry_t local_carry[2][WG_SIZE];
    const uint lid = get_local_id(0), strip = first + get_group_id(0), tile = diagonal - strip;
    const uint all_blocks = (m + 31) / 32;
    const uint begin = tile * BLOCKS, end = min(begin + BLOCKS, all_blocks);
    const uint word = (strip * WG_SIZE + lid) * WORDS;       // the first of this work-item
% if local_symbols:
    local word_t local_masks[LOCAL_SYMBOLS * WG_SIZE * WORDS];
    for (uint k = lid; k < symbols * WG_SIZE * WORDS; k += WG_SIZE) {
        const uint which = k / (WG_SIZE * WORDS), index = k % (WG_SIZE * WORDS);
        local_masks[k] = masks[(ulong)which * words + strip * WG_SIZE * WORDS + index];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
% endif

    column_t column;
    load_column(&column, state + word, words);
    for (uint step = 0; step < BLOCKS + WG_SIZE - 1; ++step) {
        const uint block = begin + step - lid;
        if (step >= lid && block < end) {
            carry_t in, out;
            for (uint k = 0; k < CARRIES; ++k) {
                in.up[k] = lid == 0 ? carries[k * all_blocks + block] : local_carry[(step + 1) & 1][lid - (lid > 0)].up[k];
                out.up[k] = 0;
            }
            const uint count = min(m - block * 32, 32u);
            for (uint c = 0; c < count; ++c) {
                const uint which = columns[block * 32 + c];
                word_t mask[WORDS], equal[WORDS];
                for (uint w = 0; w < WORDS; ++w)
% if local_symbols:
                    mask[w] = local_masks[which * WG_SIZE * WORDS + lid * WORDS + w];
% else:
                    mask[w] = masks[(ulong)which * words + word + w];
% endif
                step_right(&column, mask, &in, &out, equal, c);
#if KEEP
                for (uint w = 0; w < WORDS; ++w) {
                    const ulong at = (word + w) * pitch + block * 32 + c;
% if problem == "edit":
                    kept[at] = equal[w];
                    kept[words * pitch + at] = column.grow[w];
% else:
                    kept[at] = column.grow[w];
% endif
                }
#endif
            }
            for (uint k = 0; k < CARRIES; ++k) {
                if (lid == WG_SIZE - 1)
                    carries[k * all_blocks + block] = out.up[k];
                else
                    local_carry[step & 1][lid].up[k] = out.up[k];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);   // the first item has read what the last one writes next
    }
    store_column(state + word, &column, words);
}
