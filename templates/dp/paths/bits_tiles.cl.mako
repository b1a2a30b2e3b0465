<%page args="problem='lcs', symbol='uchar', local_symbols=0, keep=False, blocks=32, variant='group', wg_size=64, items_per_thread=1"/>\
// bits_tiles: a diagonal of tiles of the table of two sequences, WORD_BITS cells of a column in each word.
//
//            columns  | block of 32 | block | ..          a tile: WG_SIZE * WORDS words of rows, BLOCKS blocks
//   item 0   rows     |      1      |   2   |  3          numbers: steps. At each an item takes the next block of its
//   item 1            |      2      |   3   |  4          own rows, with the carries of the item above out of that
//   item 2            |      3      |   4   |  5          block: for each column one bit (lcs) or two (edit)
//
// A column is kept as its differences down the rows. lcs: bit 0 where the length grows by one. edit: two words, for
// +1 and -1. The carries of a tile's lowest row stay in `carries` for the tile below, its last column in `state` for
// the tile to the right. A launch computes the tiles strip + tile = diagonal.
// Cost: 5 (lcs) or 15 (edit) operations on a word per column and word. With `keep` every column's words are stored:
// lcs: as above. edit: bits where the distance equals that on the diagonal before, and bits where it grows downwards.
// Sources: lcs: Hyyro, "Bit-parallel LCS-length computation revisited" (2004); edit: Myers, "A fast bit-vector
// algorithm for approximate string matching based on dynamic programming" (1999), with the carries of Hyyro (2003).
<%
    word_bits = 64 if variant == "serial" else 32
%>\
<%def name="column(c, mask)">
% if problem == "lcs":
                word_t carried = (in.up[0] >> (${c})) & 1;
                #pragma unroll
                for (uint w = 0; w < WORDS; ++w) {
                    const word_t mask = ${mask}, matched = grow[w] & mask;
                    const word_t sum = grow[w] + matched, with_carry = sum + carried;
                    carried = (sum < matched) | (with_carry < sum);
                    grow[w] = with_carry | (grow[w] & ~mask);
                }
                out.up[0] |= (uint)carried << (${c});
% else:
                word_t plus = (in.up[0] >> (${c})) & 1, minus = (in.up[1] >> (${c})) & 1;   // the step to the right above
                #pragma unroll
                for (uint w = 0; w < WORDS; ++w) {
                    const word_t mask = ${mask}, across = mask | fall[w], equal = mask | minus;
                    const word_t zero = (((equal & grow[w]) + grow[w]) ^ grow[w]) | equal;
% if keep:
                    kept[(ulong)(word + w) * m + block * 32 + ${c}] = zero | fall[w];    // as on the diagonal before
% endif
                    const word_t right_grow = fall[w] | ~(zero | grow[w]), right_fall = grow[w] & zero;
                    const word_t next_grow = (right_grow << 1) | plus, next_fall = (right_fall << 1) | minus;
                    plus = right_grow >> (WORD_BITS - 1);
                    minus = right_fall >> (WORD_BITS - 1);
                    grow[w] = next_fall | ~(across | next_grow);
                    fall[w] = next_grow & across;
                }
                out.up[0] |= (uint)plus << (${c});
                out.up[1] |= (uint)minus << (${c});
% endif
% if keep:
                for (uint w = 0; w < WORDS; ++w)
                    kept[(ulong)(${"words + " if problem == "edit" else ""}word + w) * m + block * 32 + ${c}] = grow[w];
% endif
</%def>\
#define WG_SIZE ${wg_size}
#define WORDS ${items_per_thread}           // of a work-item, one under the other
#define WORD_BITS ${word_bits}
#define BLOCKS ${blocks}u                    // of 32 columns, of a tile
#define AHEAD 8
#define LOCAL_SYMBOLS ${local_symbols}      // symbols whose masks are read from local memory; 0: from global
#define CARRIES ${1 if problem == "lcs" else 2}
typedef ${"ulong" if word_bits == 64 else "uint"} word_t;
typedef ${symbol} symbol_t;

typedef struct { uint up[CARRIES]; } carry_t;      // bit c: out of column c of a block

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void bits_tiles(global const word_t *masks, const uint words, const uint symbols,
                global const symbol_t *columns, const uint m, global uint *carries,
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
    #define MASK(which, w) local_masks[(which) * WG_SIZE * WORDS + lid * WORDS + (w)]
    barrier(CLK_LOCAL_MEM_FENCE);
% else:
    #define MASK(which, w) masks[(ulong)(which) * words + word + (w)]
% endif

    word_t grow[WORDS], fall[WORDS];                         // lcs: grow only, with bits where the length does not grow
    for (uint w = 0; w < WORDS; ++w) {
        grow[w] = state[word + w];
% if problem == "edit":
        fall[w] = state[words + word + w];
% endif
    }
    for (uint step = 0; step < BLOCKS + WG_SIZE - 1; ++step) {
        const uint block = begin + step - lid;
        if (step >= lid && block < end) {
            carry_t in, out;
            for (uint k = 0; k < CARRIES; ++k) {
                in.up[k] = lid == 0 ? carries[k * all_blocks + block] : local_carry[(step + 1) & 1][lid - (lid > 0)].up[k];
                out.up[k] = 0;
            }
            const uint count = min(m - block * 32, 32u);
            global const symbol_t *codes = columns + block * 32;
% if variant == "group":
            if (count == 32) {       // a whole block: masks of AHEAD columns are read before the first of them is used
                for (uint c = 0; c < 32; c += AHEAD) {
                    word_t ahead[AHEAD][WORDS];
                    #pragma unroll
                    for (uint k = 0; k < AHEAD; ++k)
                        for (uint w = 0; w < WORDS; ++w)
                            ahead[k][w] = MASK(codes[c + k], w);
                    #pragma unroll
                    for (uint k = 0; k < AHEAD; ++k) {
                        ${column("c + k", "ahead[k][w]")}\
                    }
                }
            } else
% endif
            for (uint c = 0; c < count; ++c) {
                const uint which = codes[c];
                ${column("c", "MASK(which, w)")}\
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
    for (uint w = 0; w < WORDS; ++w) {
        state[word + w] = grow[w];
% if problem == "edit":
        state[words + word + w] = fall[w];
% endif
    }
}
