<%page args="cells='short2', local=False, ends=True, codes=32, team=1, rows=None, variant='group', wg_size=32, items_per_thread=16"/>\
<%
lanes = 1 if cells == "int" else 2
rows = rows or items_per_thread
fours = (rows + 3) // 4
wide = 4 if fours % 4 == 0 else 2 if fours % 2 == 0 else 1
%>\
// align_pairs: scores of many short pairs with affine gaps, and where they end. ${"A work-item computes" if team == 1 else f"{team} work-items, a team, compute"} ${lanes} pair${"s" if lanes > 1 else ""} at
// once${", one in each half of a word" if lanes > 1 else ""}; pairs are sorted by their sizes, so those of a group end together.
//
//            b  -->                     a strip is ROWS rows, whose H and F stay in registers; four columns at once
//   a  | top ...............|           `top`: H of the row above the strip, and its E for the next row
//   |  | strip 0: ROWS rows |           H = max(H diagonal + score, E, F) (and 0 if local)
//   v  | strip 1 ...        |           E: the last letter of a is against a gap, F: that of b
% if team > 1:
//
// Each of a team has a strip, one below the other, and is a step of four columns behind the one above, which hands it
// down what is above its strip; only between the strips of teams is that written to memory.
% endif
//
// `profile`, in local memory, has the scores of the letters of the strip against each code: a work-item has its own, in
// its own bank, and a word has the scores of four rows. Rows and columns beyond a pair have the code PAD, whose scores are
// -1: no best score is there first.
% if lanes > 1:
// Values of 16 bits wrap: the caller computes again what comes close to the greatest.
% endif
// Work for ${lanes} cell${"s" if lanes > 1 else ""}: 7 instructions, one for the score, and ${lanes} / ${4 * wide} reads of local memory. 40 bytes of scratch memory are
// read and written for ${4 * team} x ROWS of them.
// Source: B. Schmidt et al., CUDASW++4.0, BMC Bioinformatics 25 (2024) 342: rows in registers, pairs in halves of words.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define ROWS ${rows}
#define TEAM ${team}          // work-items of a pair, each with a strip
#define TEAMS (WG_SIZE / TEAM)
#define LANES ${lanes}
#define LOCAL ${int(local)}
#define ENDS ${int(ends)}
#define CODES ${codes}        // of letters; the last one is PAD
#define PAD (CODES - 1)
#define WORDS ((CODES + 3) / 4)    // of scores of a letter
#define VECTORS ((WORDS + 3) / 4)  // of four words
#define STRIDE (VECTORS | 1)       // vectors of a row of the table: odd, so that rows begin in different banks
#define FOURS ${fours}
#define WIDE ${wide}   // words of the profile in one read
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
#include "sequences/pairs_team.h"

// Column c of four: H and F of the rows from those of the column before, E downwards; `before` is H diagonally above.
STEP void fill_column(cells_t *h, cells_t *f, cells_t *gap, cells_t before, local const words_t *profile,
                      const uint *code, const int c, const cells_t opened, const cells_t extended, cells_t *best)
{
    cells_t e = *gap, last = before, now, open;
    uint words[WIDE][LANES];
% for r in range(rows):
%   if r % (4 * wide) == 0:
    #pragma unroll
    for (int l = 0; l < LANES; ++l)
        spread(words, l, PROFILE(profile, code[l] >> 8 * c & 255, ${r // (4 * wide)}, l));
%   endif
    now = ${"MAX0" if local else "MAX"}(MAX(e, f[${r}]), ADD(before, SCORE(words[${r // 4 % wide}], ${r % 4})));
    open = ADD(now, opened);
    e = MAX(ADD(e, extended), open);
    f[${r}] = MAX(ADD(f[${r}], extended), open);
    before = h[${r}];
    h[${r}] = now;
%   if local and (r % 2 or r == rows - 1):
    best[${r // 2 % 2}] = MAX(MAX(best[${r // 2 % 2}], ${"last" if r % 2 else "now"}), now);   // one instruction where it may be
%   elif local:
    last = now;
%   endif
% endfor
    *gap = e;
}

kernel CLGEOM_NARROW __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void align_pairs(global const uchar *a, global const uchar *b, global const uint *a_offsets, global const uint *b_offsets,
                 const uint a_many, const uint b_many, global const uchar *codes, global const uint4 *scores,
                 const int gap_open, const int gap_extend, const int free_ends, const uint reverse, global const uint *order,
                 const uint ordered, const uint count, const uint width, global uint *columns, global uint4 *top,
                 global int *results, global uint *status)
{
    local uint4 table[CODES * STRIDE];
    local uchar codes_of_a[NO_LETTER + 1], codes_of_b[NO_LETTER + 1];
    local words_t profiles[CODES * FOURS / WIDE * LANES * WG_SIZE];
#if TEAM > 1
    local uint exchange[CELL_KIND == PTX_CELLS ? 1 : WG_SIZE];
#endif
    const uint item = get_local_id(0), team = item / TEAM;
    const int member = item % TEAM;
    local words_t *profile = profiles + item;
    for (uint k = item; k < CODES * STRIDE; k += WG_SIZE)
        table[k] = scores[k];
    read_codes(codes_of_a, codes);
    read_codes(codes_of_b, codes + (reverse ? 512 : 256));
    barrier(CLK_LOCAL_MEM_FENCE);
    const cells_t opened = SPLAT(-gap_open - gap_extend), extended = SPLAT(-gap_extend);
    const bool free_row = LOCAL || (free_ends & B_BEGIN), free_column = LOCAL || (free_ends & A_BEGIN);
    // memory of this group: entry k of a team is k * TEAMS from its first
    global uint *letters = columns + (size_t)get_group_id(0) * width * LANES * TEAMS + team;
    top += (size_t)get_group_id(0) * width * 2 * TEAMS + team;
    uint wrong = 0;
#if TEAM > 1
    for (size_t first = (size_t)get_group_id(0) * TEAMS; first * LANES < count; first += (size_t)get_num_groups(0) * TEAMS) {
        const size_t batch = first + team;
#else
    for (size_t batch = get_global_id(0); batch * LANES < count; batch += get_global_size(0)) {
#endif
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
#if TEAM > 1
        rows = most_of_group(exchange, rows);
        quads = most_of_group(exchange, quads);
        meet();    // the letters of the pairs before are read
#endif
        wrong |= write_columns(letters, pair, member, quads, b, codes_of_b, reverse);
        cells_t best[2] = {SPLAT(0), SPLAT(0)};
        for (int strip = 0; strip < rows; strip += ROWS * TEAM) {
            const int above = strip + member * ROWS;
            int from[LANES];
            wrong |= fill_profiles(profile, pair, above, a, codes_of_a, table);
            #pragma unroll
            for (int l = 0; l < LANES; ++l) {
                end[l].needed = end[l].score + 1;
                from[l] = first_end(pair[l], above, free_ends);
            }
            cells_t h[ROWS], f[ROWS], diagonal = SPLAT(border(free_column, gap_open, gap_extend, above));
            begin_strip(h, f, above, free_column, gap_open, gap_extend);
            cells_t up[4] = {0, 0, 0, 0}, gap[4] = {0, 0, 0, 0}, next_up[4], next_gap[4];
            uint code[LANES] = {${", ".join("0" * lanes)}}, next_code[LANES];
#if TEAM > 1
            meet();    // letters, and the row above the strip, are written
#endif
            read_columns(next_up, next_gap, next_code, strip, 0, top, letters, free_row, gap_open, gap_extend);
            for (int step = 0; step < quads + TEAM - 1; ++step) {
                const int quad = step - member;
#if TEAM > 1
                const uint before = item - (member > 0);
                #pragma unroll
                for (int c = 0; c < 4; ++c) {
                    up[c] = CELLS(taken(exchange, WORD(up[c]), before));
                    gap[c] = CELLS(taken(exchange, WORD(gap[c]), before));
                }
                #pragma unroll
                for (int l = 0; l < LANES; ++l)
                    code[l] = taken(exchange, code[l], before);
#endif
                if (member == 0) {
                    #pragma unroll
                    for (int c = 0; c < 4; ++c) {
                        up[c] = next_up[c];
                        gap[c] = next_gap[c];
                    }
                    #pragma unroll
                    for (int l = 0; l < LANES; ++l)
                        code[l] = next_code[l];
                }
                if (TEAM > 1 && (quad < 0 || quad >= quads))
                    continue;
                if (member == 0 && quad + 1 < quads)
                    read_columns(next_up, next_gap, next_code, strip, quad + 1, top, letters, free_row, gap_open, gap_extend);
                #pragma unroll
                for (int c = 0; c < 4; ++c) {
#if LOCAL && ENDS
                    best[0] = best[1] = SPLAT(0);   // of this column
#endif
                    const cells_t before = diagonal;
                    diagonal = up[c];
                    fill_column(h, f, &gap[c], before, profile, code, c, opened, extended, best);
                    up[c] = h[ROWS - 1];
#if ENDS || !LOCAL
                    const int j = 4 * quad + c + 1;
                    if (may_end(pair, end, from, j, best)) {
#if LOCAL
                        note_column(end, pair, h, MAX(best[0], best[1]), above, j);
#else
                        #pragma unroll
                        for (int r = 0; r < ROWS; ++r)
                            #pragma unroll
                            for (int l = 0; l < LANES; ++l)
                                note_end(&end[l], pair[l], LANE(h[r], l), above + r + 1, j, free_ends);
#endif
                    }
#endif
                }
                if (member == TEAM - 1 && strip + ROWS * TEAM < rows)
                    store_top(top, quad, up, gap);
            }
        }
        cells_t most = MAX(best[0], best[1]);
#if TEAM > 1
        join_team(exchange, end, &most);
#endif
        #pragma unroll
        for (int l = 0; l < LANES; ++l)
            if (member == 0 && batch * LANES + l < count)
                write_result(results, pair[l].number, end[l], LANE(most, l));
    }
    if (wrong)
        status[0] = 1;
}
