<%page args="cells='short2', local=False, ends=True, codes=32, variant='group', wg_size=32, items_per_thread=16"/>\
<%
lanes = 1 if cells == "int" else 2
fours, stride = items_per_thread // 4, -(-codes // 4) | 1
each = range(lanes)
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
#define STRIDE ${stride}       // words of a row of the table: odd, so that rows begin in different banks
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
#define LANE(x, l) ((int)(x).s##l)
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
#define LANE(x, l) ((int)(short)((x) >> 16 * l))
#define WORD(x) (x)
#define CELLS(x) (x)
#define SCORE(words, r) ptx_bytes((words)[0], (words)[1], 0xc480u + 0x1111u * r)
% endif
#define PROFILE(code, four, lane) profile[(((code) * ${fours} + (four)) * LANES + (lane)) * WG_SIZE + item]

// H in the first row or column of the table, k cells from the corner.
inline int border(const bool is_free, const int gap_open, const int gap_extend, const int k)
{
    return is_free || k == 0 ? 0 : max(-(gap_open + k * gap_extend), LOWEST * (LANES > 1 ? 1 : 1 << 15));
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void align_pairs(global const uchar *a, global const uchar *b, global const uint *a_offsets, global const uint *b_offsets,
                 const uint a_many, const uint b_many, global const uchar *codes, global const uint *scores,
                 const int gap_open, const int gap_extend, const int free_ends, const uint reverse, global const uint *order,
                 const uint ordered, const uint count, const uint width, global uint *columns, global uint4 *top,
                 global int *results, global uint *status)
{
    local uint table[CODES * STRIDE], profile[CODES * ${fours} * LANES * WG_SIZE];
    const uint item = get_local_id(0);
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
% for l in each:
        uint pair${l} = 0, a${l} = 0, b${l} = 0;
        int n${l} = 0, m${l} = 0;
        if (batch * LANES + ${l} < count) {
            pair${l} = batch * LANES + ${l};
            if (ordered)
                pair${l} = order[pair${l}];
            a${l} = a_offsets[pair${l} * a_many];
            n${l} = a_offsets[pair${l} * a_many + 1] - a${l};
            b${l} = b_offsets[pair${l} * b_many];
            m${l} = b_offsets[pair${l} * b_many + 1] - b${l};
        }
% endfor
        const int rows = ${"max(n0, n1)" if lanes > 1 else "n0"}, quads = (${"max(m0, m1)" if lanes > 1 else "m0"} + 3) / 4;
        // the codes of the columns, four in a word
        for (int quad = 0; quad < quads; ++quad) {
% for l in each:
            {
                uint four = 0;
                #pragma unroll
                for (int k = 0; k < 4; ++k) {
                    const int j = 4 * quad + k;
                    uint code = PAD;
                    if (j < m${l}) {
                        code = reverse ? codes[512 + b[b${l} + m${l} - 1 - j]] : codes[256 + b[b${l} + j]];
                        wrong |= code == UNKNOWN;
                    }
                    four |= min(code, (uint)PAD) << 8 * k;
                }
                letters[(quad * LANES + ${l}) * WG_SIZE] = four;
            }
% endfor
        }
% for l in each:
        int highest${l} = LOCAL ? 0 : INT_MIN, end_row${l} = -1, end_column${l} = -1;
% endfor
% if local and not ends:
        cells_t best[4] = {SPLAT(0), SPLAT(0), SPLAT(0), SPLAT(0)};
% endif
        for (int above = 0; above < rows; above += ROWS) {
            for (int four = 0; four < ${fours}; ++four) {
% for l in each:
                {
                    uint row[4];
                    #pragma unroll
                    for (int k = 0; k < 4; ++k) {
                        const int i = above + 4 * four + k;
                        row[k] = PAD;
                        if (i < n${l}) {
                            row[k] = codes[a[a${l} + i]];
                            wrong |= row[k] == UNKNOWN;
                        }
                        row[k] = min(row[k], (uint)PAD) * STRIDE;
                    }
                    for (int word = 0; word < ${-(-codes // 4)}; ++word) {
                        const uchar4 s0 = as_uchar4(table[row[0] + word]), s1 = as_uchar4(table[row[1] + word]);
                        const uchar4 s2 = as_uchar4(table[row[2] + word]), s3 = as_uchar4(table[row[3] + word]);
% for k in range(4):
                        ${f"if (4 * word + {k} < CODES)" if codes % 4 else ""}
                            PROFILE(4 * word + ${k}, four, ${l}) = as_uint((uchar4)(s0.s${k}, s1.s${k}, s2.s${k}, s3.s${k}));
% endfor
                    }
                }
% endfor
            }
            cells_t h[ROWS], f[ROWS], diagonal = SPLAT(border(free_column, gap_open, gap_extend, above));
            #pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                h[r] = SPLAT(border(free_column, gap_open, gap_extend, above + r + 1));
                f[r] = ADD(h[r], opened);
            }
% for l in each:
% if local:
            int needed${l} = highest${l} + 1;   // least score of a cell that may be the end
% else:
            // the columns in which the strip has cells that may be the end
            const bool is_last${l} = n${l} > above && n${l} <= above + ROWS;
            const int from${l} = is_last${l} && (free_ends & B_END) ? 1 : is_last${l} || (n${l} > above && (free_ends & A_END)) ? m${l} : INT_MAX;
% endif
% endfor
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
% for l in each:
                const uint code${l} = letters[(quad * LANES + ${l}) * WG_SIZE];
% endfor
                #pragma unroll
                for (int c = 0; c < 4; ++c) {
                    cells_t e = gap[c], before = diagonal;
                    diagonal = up[c];
% if local and ends:
                    cells_t best[4] = {SPLAT(0), SPLAT(0), SPLAT(0), SPLAT(0)};
% endif
                    #pragma unroll
                    for (int four = 0; four < ${fours}; ++four) {
                        const uint words[LANES] = {${", ".join(f"PROFILE(code{l} >> 8 * c & 255, four, {l})" for l in each)}};
% for r in range(4):
                        {
                            cells_t now = MAX(ADD(before, SCORE(words, ${r})), e);
                            now = ${"MAX0" if local else "MAX"}(now, f[4 * four + ${r}]);
                            const cells_t open = ADD(now, opened);
                            e = MAX(ADD(e, extended), open);
                            f[4 * four + ${r}] = MAX(ADD(f[4 * four + ${r}], extended), open);
                            before = h[4 * four + ${r}];
                            h[4 * four + ${r}] = now;
% if local:
                            best[${r}] = MAX(best[${r}], now);
% endif
                        }
% endfor
                    }
                    up[c] = h[ROWS - 1];
                    gap[c] = e;
% if local and ends:
                    const cells_t most = MAX(MAX(best[0], best[1]), MAX(best[2], best[3]));
                    if (${" || ".join(f"LANE(most, {l}) >= needed{l}" for l in each)}) {
% elif not local:
                    const int column = 4 * quad + c + 1;
                    if (${" || ".join(f"(column >= from{l} && column <= m{l})" for l in each)}) {
% endif
% if ends or not local:
                        const int j = 4 * quad + c + 1;
                        #pragma unroll
                        for (int r = 0; r < ROWS; ++r) {
                            const int i = above + r + 1;
% for l in each:
% if local:
                            const bool is_end${l} = i <= n${l} && j <= m${l};
% else:
                            const bool is_end${l} = (i == n${l} && (j == m${l} || (j <= m${l} && (free_ends & B_END))))
                                                 || (j == m${l} && i <= n${l} && (free_ends & A_END));
% endif
                            const int value${l} = LANE(h[r], ${l});
                            if (is_end${l} && (value${l} > highest${l} || (value${l} == highest${l} && i < end_row${l}))) {
                                highest${l} = value${l};
                                end_row${l} = i;
                                end_column${l} = j;
% if local:
                                needed${l} = value${l};
% endif
                            }
% endfor
                        }
                    }
% endif
                }
                top[2 * quad * WG_SIZE] = (uint4)(WORD(up[0]), WORD(up[1]), WORD(up[2]), WORD(up[3]));
                top[(2 * quad + 1) * WG_SIZE] = (uint4)(WORD(gap[0]), WORD(gap[1]), WORD(gap[2]), WORD(gap[3]));
            }
        }
% if local and not ends:
        const cells_t most = MAX(MAX(best[0], best[1]), MAX(best[2], best[3]));
% for l in each:
        highest${l} = LANE(most, ${l});
% endfor
% endif
% for l in each:
        if (batch * LANES + ${l} < count) {
% if ends:
            results[3 * (size_t)pair${l}] = highest${l};
            results[3 * (size_t)pair${l} + 1] = end_row${l};
            results[3 * (size_t)pair${l} + 2] = end_column${l};
% else:
            results[pair${l}] = highest${l};
% endif
        }
% endfor
    }
    if (wrong)
        status[0] = 1;
}
