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
#define LOWEST (-16384)   // of borders: cells of the pairs that fit 16 bits are greater
% if cells == "int":
typedef int cells_t;
#define SPLAT(v) (v)
#define ADD(x, y) ((x) + (y))
#define MAX(x, y) max(x, y)
#define MAX0(x, y) max(max(x, y), 0)
#define LANE(x, l) (x)
#define WORD(x) as_uint(x)
#define CELLS(x) as_int(x)
#define SCORE(words, r) ((int)as_char4((words)[0]).s##r)
% elif cells == "short2":
typedef short2 cells_t;
#define SPLAT(v) ((short2)(short)(v))
#define ADD(x, y) ((x) + (y))
#define MAX(x, y) max(x, y)
#define MAX0(x, y) max(max(x, y), (short2)(0))
#define LANE(x, l) ((int)((l) ? (x).s1 : (x).s0))
#define WORD(x) as_uint(x)
#define CELLS(x) as_short2(x)
#define SCORE(words, r) (short2)(as_char4((words)[0]).s##r, as_char4((words)[1]).s##r)
% else:
typedef uint cells_t;
inline uint ptx_add(const uint x, const uint y)
{
    uint z;
    asm("add.s16x2 %0, %1, %2;" : "=r"(z) : "r"(x), "r"(y));
    return z;
}
inline uint ptx_max(const uint x, const uint y)
{
    uint z;
    asm("max.s16x2 %0, %1, %2;" : "=r"(z) : "r"(x), "r"(y));
    return z;
}
inline uint ptx_max_or_zero(const uint x, const uint y)
{
    uint z;
    asm("max.relu.s16x2 %0, %1, %2;" : "=r"(z) : "r"(x), "r"(y));
    return z;
}
// Byte r of both words, each extended to 16 bits by its sign.
inline uint ptx_bytes(const uint x, const uint y, const uint selector)
{
    uint z;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(z) : "r"(x), "r"(y), "r"(selector));
    return z;
}
#define SPLAT(v) ((uint)((v) & 0xffff) * 0x10001u)
#define ADD(x, y) ptx_add(x, y)
#define MAX(x, y) ptx_max(x, y)
#define MAX0(x, y) ptx_max_or_zero(x, y)
#define LANE(x, l) ((int)(short)((x) >> 16 * (l)))
#define WORD(x) (x)
#define CELLS(x) (x)
#define SCORE(words, r) ptx_bytes((words)[0], (words)[1], 0xc480u + 0x1111u * r)
% endif
// The scores of rows 4 * four .. of a strip against a code, of a lane of this work-item, whose words begin at `profile`.
#define PROFILE(profile, code, four, lane) (profile)[(((code) * FOURS + (four)) * LANES + (lane)) * WG_SIZE]

typedef struct { uint number, a, b; int n, m; } pair_t;             // first letters and lengths
typedef struct { int score, row, column, needed; } end_t;          // the best one so far; least score of a better one

inline pair_t take_pair(const size_t number, const uint count, const uint ordered, global const uint *order,
                        global const uint *a_offsets, global const uint *b_offsets, const uint a_many, const uint b_many)
{
    pair_t pair = {0, 0, 0, 0, 0};
    if (number < count) {
        pair.number = ordered ? order[number] : number;
        pair.a = a_offsets[pair.number * a_many];
        pair.n = a_offsets[pair.number * a_many + 1] - pair.a;
        pair.b = b_offsets[pair.number * b_many];
        pair.m = b_offsets[pair.number * b_many + 1] - pair.b;
    }
    return pair;
}

// H in the first row or column of the table, k cells from the corner.
inline int border(const bool is_free, const int gap_open, const int gap_extend, const int k)
{
    return is_free || k == 0 ? 0 : max(-(gap_open + k * gap_extend), LOWEST * (LANES > 1 ? 1 : 1 << 15));
}

// Write the codes of a pair's columns, four in a word. Returns whether a letter is outside the alphabet.
inline uint write_columns(global uint *letters, const pair_t pair, const int quads, global const uchar *b,
                          global const uchar *codes, const uint reverse)
{
    uint wrong = 0;
    for (int quad = 0; quad < quads; ++quad) {
        uint four = 0;
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int j = 4 * quad + k;
            uint code = PAD;
            if (j < pair.m) {
                code = reverse ? codes[512 + b[pair.b + pair.m - 1 - j]] : codes[256 + b[pair.b + j]];
                wrong |= code == UNKNOWN;
            }
            four |= min(code, (uint)PAD) << 8 * k;
        }
        letters[quad * LANES * WG_SIZE] = four;
    }
    return wrong;
}

// Fill the profile of the rows of a strip. Returns whether a letter is outside the alphabet.
inline uint fill_profile(local uint *profile, const int lane, const pair_t pair, const int above,
                         global const uchar *a, global const uchar *codes, local const uint *table)
{
    uint wrong = 0;
    for (int four = 0; four < FOURS; ++four) {
        uint row[4];
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int i = above + 4 * four + k;
            row[k] = PAD;
            if (i < pair.n) {
                row[k] = codes[a[pair.a + i]];
                wrong |= row[k] == UNKNOWN;
            }
            row[k] = min(row[k], (uint)PAD) * STRIDE;
        }
        for (int word = 0; word < WORDS; ++word) {
            const uchar4 s0 = as_uchar4(table[row[0] + word]), s1 = as_uchar4(table[row[1] + word]);
            const uchar4 s2 = as_uchar4(table[row[2] + word]), s3 = as_uchar4(table[row[3] + word]);
% for k in range(4):
            ${f"if (4 * word + {k} < CODES)" if codes % 4 else ""}
                PROFILE(profile, 4 * word + ${k}, four, lane) = as_uint((uchar4)(s0.s${k}, s1.s${k}, s2.s${k}, s3.s${k}));
% endfor
        }
    }
    return wrong;
}

// The column from which on the strip below row `above` has cells that may be the end.
inline int first_end(const pair_t pair, const int above, const int free_ends)
{
    const bool is_last = pair.n > above && pair.n <= above + ROWS;
    return is_last && (free_ends & B_END) ? 1 : is_last || (pair.n > above && (free_ends & A_END)) ? pair.m : INT_MAX;
}

// Take cell (i, j) as the end of a pair if it may be it, and is better.
inline void note_end(end_t *end, const pair_t pair, const int value, const int i, const int j, const int free_ends)
{
#if LOCAL
    const bool is_end = i <= pair.n && j <= pair.m;
#else
    const bool is_end = (i == pair.n && (j == pair.m || (j <= pair.m && (free_ends & B_END))))
                     || (j == pair.m && i <= pair.n && (free_ends & A_END));
#endif
    if (is_end && (value > end->score || (value == end->score && i < end->row))) {
        end->score = end->needed = value;
        end->row = i;
        end->column = j;
    }
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
            #pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                h[r] = SPLAT(border(free_column, gap_open, gap_extend, above + r + 1));
                f[r] = ADD(h[r], opened);
            }
            for (int quad = 0; quad < quads; ++quad) {
                cells_t up[4], gap[4];
                if (above == 0) {
                    #pragma unroll
                    for (int c = 0; c < 4; ++c) {
                        up[c] = SPLAT(border(free_row, gap_open, gap_extend, 4 * quad + c + 1));
                        gap[c] = ADD(up[c], opened);
                    }
                } else {
                    const uint4 h4 = top[2 * quad * WG_SIZE], e4 = top[(2 * quad + 1) * WG_SIZE];
% for c in range(4):
                    up[${c}] = CELLS(h4.s${c});
                    gap[${c}] = CELLS(e4.s${c});
% endfor
                }
                uint code[LANES];
                #pragma unroll
                for (int l = 0; l < LANES; ++l)
                    code[l] = letters[(quad * LANES + l) * WG_SIZE];
                #pragma unroll
                for (int c = 0; c < 4; ++c) {
                    const int j = 4 * quad + c + 1;
                    cells_t e = gap[c], before = diagonal;
                    diagonal = up[c];
#if LOCAL && ENDS
                    best[0] = best[1] = best[2] = best[3] = SPLAT(0);   // of this column
#endif
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
                    up[c] = h[ROWS - 1];
                    gap[c] = e;
#if ENDS || !LOCAL
                    bool may_end = false;
#if LOCAL
                    const cells_t most = MAX(MAX(best[0], best[1]), MAX(best[2], best[3]));
#endif
                    #pragma unroll
                    for (int l = 0; l < LANES; ++l)
#if LOCAL
                        may_end |= LANE(most, l) >= end[l].needed;
#else
                        may_end |= j >= from[l] && j <= pair[l].m;
#endif
                    if (may_end) {
                        #pragma unroll
                        for (int r = 0; r < ROWS; ++r)
                            #pragma unroll
                            for (int l = 0; l < LANES; ++l)
                                note_end(&end[l], pair[l], LANE(h[r], l), above + r + 1, j, free_ends);
                    }
#endif
                }
                top[2 * quad * WG_SIZE] = (uint4)(WORD(up[0]), WORD(up[1]), WORD(up[2]), WORD(up[3]));
                top[(2 * quad + 1) * WG_SIZE] = (uint4)(WORD(gap[0]), WORD(gap[1]), WORD(gap[2]), WORD(gap[3]));
            }
        }
        #pragma unroll
        for (int l = 0; l < LANES; ++l)
            if (batch * LANES + l < count) {
#if LOCAL && !ENDS
                const cells_t most = MAX(MAX(best[0], best[1]), MAX(best[2], best[3]));
                results[pair[l].number] = LANE(most, l);
#elif !ENDS
                results[pair[l].number] = end[l].score;
#else
                results[3 * (size_t)pair[l].number] = end[l].score;
                results[3 * (size_t)pair[l].number + 1] = end[l].row;
                results[3 * (size_t)pair[l].number + 2] = end[l].column;
#endif
            }
    }
    if (wrong)
        status[0] = 1;
}
