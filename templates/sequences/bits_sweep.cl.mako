<%page args="problem='lcs', symbol='uchar', local_symbols=0, keep=False, chunk=16, variant='group', wg_size=32, items_per_thread=1"/>\
// bits_sweep: the table of two sequences in one launch, WORD_BITS cells of a column in each word.
//
//            columns  | block of 32 | block | ..          a strip: WG_SIZE * WORDS words of rows, all columns
//   item 0   rows     |      1      |   2   |  3          numbers: steps. At each an item takes the next block of its
//   item 1            |      2      |   3   |  4          own rows, with the carries of the item above out of that
//   item 2            |      3      |   4   |  5          block: for each column one bit (lcs) or two (edit)
//
// A group takes the next strip by a ticket and keeps its words in registers. Every CHUNK steps it waits for the carries of
// the strip above and hands on its own (dp/dp_tickets.h); all strips use one row of carries, each after the one above. A
// group that gives up sets the last word of `progress`, and the results are not valid. `starts` gets the words of the
// column before every `every` blocks, if it is not 0. With `keep` the words of every column are stored, as by bits_tiles.
#define KEEP ${int(keep)}
#define WG_SIZE ${wg_size}
#define WORDS ${items_per_thread}           // of a work-item, one under the other
#define WORD_BITS 32
#define EDIT ${int(problem == "edit")}
#define CHUNK ${chunk}u                      // steps
#define AHEAD 8                              // columns whose masks are read together
#define LOCAL_SYMBOLS ${local_symbols}      // symbols whose masks are read from local memory; 0: from global
typedef uint word_t;
typedef uint4 words_t;                       // memory of the words is aligned to them
typedef ${symbol} symbol_t;
#include "portable.h"
#include "sequences/bits_column.h"
#include "dp/dp_tickets.h"
% if local_symbols:
#define MASK(which, w) local_masks[(which) * WG_SIZE * WORDS + (w) * WG_SIZE + lid]
% else:
#define MASK(which, w) masks[(ulong)(which) * words + word + (w)]
% endif
// The symbols of a block, in registers; the masks of AHEAD of them.
% if symbol == "uchar":
#define CODES(name) words_t name[2]
#define READ_CODES(name, block) { name[0] = ((global const words_t *)columns)[(block) * 2]; \
                                  name[1] = ((global const words_t *)columns)[(block) * 2 + 1]; }
#define TAKE_CODES(to, from) { to[0] = from[0]; to[1] = from[1]; }
#define CODE(name, c) ((((c) % 16 < 8 ? (c) % 8 < 4 ? name[(c) / 16].x : name[(c) / 16].y \
                                      : (c) % 8 < 4 ? name[(c) / 16].z : name[(c) / 16].w) >> ((c) % 4 * 8)) & 255)
% else:
#define CODES(name) uint name
#define READ_CODES(name, block) name = (block) * 32
#define TAKE_CODES(to, from) to = from
#define CODE(name, c) columns[name + (c)]
% endif
#define FETCH(to, codes, c) \
    _Pragma("unroll") for (uint k = 0; k < AHEAD; ++k) { \
        const uint which = CODE(codes, (c) + k); \
        _Pragma("unroll") for (uint w = 0; w < WORDS; ++w) \
            to[k][w] = MASK(which, w); }
<%def name="stored(where, from_)">
                        ((global words_t *)${where})[0] = (uint4)(${", ".join(f"{from_}[{k}][w]" for k in range(4))});
                        ((global words_t *)${where})[1] = (uint4)(${", ".join(f"{from_}[{k}][w]" for k in range(4, 8))});
</%def>\

kernel CLGEOM_NARROW __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void bits_sweep(global const word_t *masks, const uint words, const uint symbols, global const symbol_t *columns,
                const uint m, const ulong pitch, volatile global uint *carries, global word_t *state, global word_t *kept,
                global word_t *starts, const uint every, volatile global int *progress, const int patience)
{
    local carry_t passed[2][WG_SIZE], above[CHUNK], below[CHUNK];
    local int ticket, given_up;
    const uint lid = get_local_id(0), all_blocks = (m + 31) / 32;
    if (lid == 0)
        given_up = 0;
    const int strip = take_ticket(progress, &ticket);
    const uint word = (strip * WG_SIZE + lid) * WORDS;       // the first of this work-item
% if local_symbols:
    local word_t local_masks[LOCAL_SYMBOLS * WG_SIZE * WORDS];
    for (uint which = 0; which < symbols; ++which)
        for (uint w = 0; w < WORDS; ++w)
            MASK(which, w) = masks[(ulong)which * words + word + w];
% endif
    column_t column;
    load_column(&column, state + word, words);
    CODES(next);
    READ_CODES(next, 0);
    bool gone = false;                                       // the same for all items
    for (uint begin = 0; begin < all_blocks + WG_SIZE - 1 && !gone; begin += CHUNK) {
        gone = wait_for(progress, strip - 1, min(begin + CHUNK, all_blocks), patience, &given_up);
        for (uint k = lid; k < CHUNK; k += WG_SIZE)
            for (uint q = 0; q < CARRIES && begin + k < all_blocks; ++q)
                above[k].up[q] = carries[q * all_blocks + begin + k];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint step = begin; step < begin + CHUNK; ++step) {
            const uint block = step - lid;
            if (step >= lid && block < all_blocks) {
                carry_t in, out;
                for (uint q = 0; q < CARRIES; ++q) {
                    in.up[q] = lid == 0 ? above[step - begin].up[q] : passed[(step + 1) & 1][lid - (lid > 0)].up[q];
                    out.up[q] = 0;
                }
                if (every && block % every == 0)
                    store_column(starts + (ulong)(block / every) * words * CARRIES + word, &column, words);
                const uint count = min(m - block * 32, 32u);
                word_t equal[AHEAD][WORDS];
                if (count == 32) {
                    CODES(now);
                    TAKE_CODES(now, next);
                    word_t ahead0[AHEAD][WORDS], ahead1[AHEAD][WORDS];
                    FETCH(ahead0, now, 0);
% for part in range(4):
<% mine, other = (f"ahead{(part + by) % 2}" for by in (0, 1)) %>\
% if part < 3:
                    FETCH(${other}, now, ${8 * part + 8});
% endif
                    #pragma unroll
                    for (uint k = 0; k < AHEAD; ++k) {
                        step_right(&column, ${mine}[k], &in, &out, equal[k], ${8 * part} + k);
% if keep:
                        #pragma unroll
                        for (uint w = 0; w < WORDS; ++w)
                            ${mine}[k][w] = column.grow[w];
% endif
                    }
% if keep:
                    #pragma unroll
                    for (uint w = 0; w < WORDS; ++w) {
                        global word_t *to = kept + (word + w) * pitch + block * 32 + ${8 * part};
% if problem == "edit":
${stored("to", "equal")}\
                        to += words * pitch;
% endif
${stored("to", mine)}\
                    }
% endif
% endfor
                } else
                    for (uint c = 0; c < count; ++c) {
                        const uint which = columns[block * 32 + c];
                        word_t mask[WORDS];
                        for (uint w = 0; w < WORDS; ++w)
                            mask[w] = MASK(which, w);
                        step_right(&column, mask, &in, &out, equal[0], c);
#if KEEP
                        for (uint w = 0; w < WORDS; ++w) {
                            global word_t *to = kept + (word + w) * pitch + block * 32 + c;
% if problem == "edit":
                            to[0] = equal[0][w];
                            to += words * pitch;
% endif
                            to[0] = column.grow[w];
                        }
#endif
                    }
                if (lid == WG_SIZE - 1)
                    below[step - begin] = out;
                else
                    passed[step & 1][lid] = out;
            }
            if (step + 1 >= lid && block + 1 < all_blocks)
                READ_CODES(next, block + 1);                 // while others compute
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        // the last item is WG_SIZE - 1 steps behind
        for (uint k = lid; k < CHUNK && !gone; k += WG_SIZE) {
            const uint block = begin + k - (WG_SIZE - 1);
            for (uint q = 0; q < CARRIES && begin + k >= WG_SIZE - 1 && block < all_blocks; ++q)
                carries[q * all_blocks + block] = below[k].up[q];
        }
        hand_on(progress, strip, min((int)(begin + CHUNK) - (WG_SIZE - 1), (int)all_blocks), gone);
    }
    if (!gone)
        store_column(state + word, &column, words);
}
