<%page args="cells='short2', local=False, ends=True, codes=32, variant='group', wg_size=32, items_per_thread=16"/>\
<%
lanes = 1 if cells == "int" else 2
%>\
// align_pairs: scores of many short pairs with affine gaps, and where they end. A work-item computes ${lanes} pair${"s" if lanes > 1 else ""} at
// once${", one in each half of a word" if lanes > 1 else ""}; pairs are sorted by their sizes, so those of a group end together.
//
//            b  -->                     a strip is ROWS rows, whose H and F stay in registers; four columns at once
//   a  | top ...............|           `top`: H of the row above the strip, and its E for the next row
//   |  | strip 0: ROWS rows |           H = max(H diagonal + score, E, F) (and 0 if local)
//   v  | strip 1 ...        |           E: the last letter of a is against a gap, F: that of b
//
// `profile`, in local memory, has the scores of the letters of the strip against each code: a work-item has its own, in
// its own bank, and a word has the scores of four rows. There is no barrier but the one after the table is there.
// Rows and columns beyond a pair have the code PAD, whose scores are -1: no best score is there first.
% if lanes > 1:
// Values of 16 bits wrap: the caller computes again what comes close to the greatest.
% endif
// Work for ${lanes} cell${"s" if lanes > 1 else ""}: 6 instructions, one for the score, and ${lanes} / 4 reads of local memory. 40 bytes of scratch memory are read
// and written for 4 x ROWS of them.
// Source: B. Schmidt et al., CUDASW++4.0, BMC Bioinformatics 25 (2024) 342: rows in registers, pairs in halves of words.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define ROWS ${items_per_thread}
#define LANES ${lanes}
#define LOCAL ${int(local)}
#define ENDS ${int(ends)}
#define CODES ${codes}        // of letters; the last one is PAD
#define PAD (CODES - 1)
#define WORDS ((CODES + 3) / 4)    // of scores of a letter
#define STRIDE (WORDS | 1)         // words of a row of the table: odd, so that rows begin in different banks
#define FOURS (ROWS / 4)
#define UNKNOWN 255
#define A_BEGIN 1
#define B_BEGIN 2
#define A_END 4
#define B_END 8
#define INT_CELLS 0
#define SHORT2_CELLS 1
#define PTX_CELLS 2
#define CELL_KIND ${cells.upper()}_CELLS
#define LOWEST (-16384)   // of borders: cells of the pairs that fit 16 bits are greater
#include "sequences/pairs_cells.h"
#include "sequences/pairs_steps.h"

// Column c of four: H and F of the rows from those of the column before, E downwards; `before` is H diagonally above.
inline void fill_column(cells_t *h, cells_t *f, cells_t *gap, cells_t before, local const uint *profile, const uint *code,
                        const int c, const cells_t opened, const cells_t extended, cells_t *best)
{
    cells_t e = *gap;
    #pragma unroll
    for (int four = 0; four < FOURS; ++four) {
        const uint words[LANES] = {${", ".join(f"PROFILE(profile, code[{l}] >> 8 * c & 255, four, {l})" for l in range(lanes))}};
% for r in range(4):
        {
            cells_t now = MAX(ADD(before, SCORE(words, ${r})), e);
            now = ${"MAX0" if local else "MAX"}(now, f[4 * four + ${r}]);
            const cells_t open = ADD(now, opened);
            e = MAX(ADD(e, extended), open);
            f[4 * four + ${r}] = MAX(ADD(f[4 * four + ${r}], extended), open);
            before = h[4 * four + ${r}];
            h[4 * four + ${r}] = now;
#if LOCAL
            best[${r}] = MAX(best[${r}], now);
#endif
        }
% endfor
    }
    *gap = e;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void align_pairs(global const uchar *a, global const uchar *b, global const uint *a_offsets, global const uint *b_offsets,
                 const uint a_many, const uint b_many, global const uchar *codes, global const uint *scores,
                 const int gap_open, const int gap_extend, const int free_ends, const uint reverse, global const uint *order,
                 const uint ordered, const uint count, const uint width, global uint *columns, global uint4 *top,
                 global int *results, global uint *status)
{
    local uint table[CODES * STRIDE], profiles[CODES * FOURS * LANES * WG_SIZE];
    const uint item = get_local_id(0);
    local uint *profile = profiles + item;
    for (uint k = item; k < CODES * STRIDE; k += WG_SIZE)
        table[k] = scores[k];
    barrier(CLK_LOCAL_MEM_FENCE);
    const cells_t opened = SPLAT(-gap_open - gap_extend), extended = SPLAT(-gap_extend);
    const bool free_row = LOCAL || (free_ends & B_BEGIN), free_column = LOCAL || (free_ends & A_BEGIN);
    // memory of this group: entry k of a work-item is k * WG_SIZE from its first
    global uint *letters = columns + (size_t)get_group_id(0) * width * LANES * WG_SIZE + item;
    top += (size_t)get_group_id(0) * width * 2 * WG_SIZE + item;
    uint wrong = 0;
    for (size_t batch = get_global_id(0); batch * LANES < count; batch += get_global_size(0)) {
        pair_t pair[LANES];
        end_t end[LANES];
        int rows = 0, quads = 0;
        #pragma unroll
        for (int l = 0; l < LANES; ++l) {
            pair[l] = take_pair(batch * LANES + l, count, ordered, order, a_offsets, b_offsets, a_many, b_many);
            rows = max(rows, pair[l].n);
            quads = max(quads, (pair[l].m + 3) / 4);
            end[l].score = LOCAL ? 0 : INT_MIN;
            end[l].row = end[l].column = -1;
        }
        #pragma unroll
        for (int l = 0; l < LANES; ++l)
            wrong |= write_columns(letters + l * WG_SIZE, pair[l], quads, b, codes, reverse);
        cells_t best[4] = {SPLAT(0), SPLAT(0), SPLAT(0), SPLAT(0)};
        for (int above = 0; above < rows; above += ROWS) {
            int from[LANES];
            #pragma unroll
            for (int l = 0; l < LANES; ++l) {
                wrong |= fill_profile(profile, l, pair[l], above, a, codes, table);
                end[l].needed = end[l].score + 1;
                from[l] = first_end(pair[l], above, free_ends);
            }
            cells_t h[ROWS], f[ROWS], diagonal = SPLAT(border(free_column, gap_open, gap_extend, above));
            begin_strip(h, f, above, free_column, gap_open, gap_extend);
            for (int quad = 0; quad < quads; ++quad) {
                cells_t up[4], gap[4];
                load_top(up, gap, above, quad, top, free_row, gap_open, gap_extend);
                uint code[LANES];
                #pragma unroll
                for (int l = 0; l < LANES; ++l)
                    code[l] = letters[(quad * LANES + l) * WG_SIZE];
                #pragma unroll
                for (int c = 0; c < 4; ++c) {
#if LOCAL && ENDS
                    best[0] = best[1] = best[2] = best[3] = SPLAT(0);   // of this column
#endif
                    const cells_t before = diagonal;
                    diagonal = up[c];
                    fill_column(h, f, &gap[c], before, profile, code, c, opened, extended, best);
                    up[c] = h[ROWS - 1];
#if ENDS || !LOCAL
                    const int j = 4 * quad + c + 1;
                    if (may_end(pair, end, from, j, best)) {
                        #pragma unroll
                        for (int r = 0; r < ROWS; ++r)
                            #pragma unroll
                            for (int l = 0; l < LANES; ++l)
                                note_end(&end[l], pair[l], LANE(h[r], l), above + r + 1, j, free_ends);
                    }
#endif
                }
                store_top(top, quad, up, gap);
            }
        }
        #pragma unroll
        for (int l = 0; l < LANES; ++l)
            if (batch * LANES + l < count)
                write_result(results, pair[l].number, end[l], LANE(most_of(best), l));
    }
    if (wrong)
        status[0] = 1;
}
