// The steps of align_pairs, in the order in which the kernel takes them. It defines the macros and cells_t.
//
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
            const uint scores[4] = {as_uint((uchar4)(s0.s0, s1.s0, s2.s0, s3.s0)), as_uint((uchar4)(s0.s1, s1.s1, s2.s1, s3.s1)),
                                    as_uint((uchar4)(s0.s2, s1.s2, s2.s2, s3.s2)), as_uint((uchar4)(s0.s3, s1.s3, s2.s3, s3.s3))};
            #pragma unroll
            for (int k = 0; k < 4; ++k)
                if (CODES % 4 == 0 || 4 * word + k < CODES)
                    PROFILE(profile, 4 * word + k, four, lane) = scores[k];
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

// H and F of the rows of the strip below row `above`, left of its first column.
inline void begin_strip(cells_t *h, cells_t *f, const int above, const bool is_free, const int gap_open,
                        const int gap_extend)
{
    #pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        h[r] = SPLAT(border(is_free, gap_open, gap_extend, above + r + 1));
        f[r] = ADD(h[r], SPLAT(-gap_open - gap_extend));
    }
}

// H above four columns of a strip, and E of its first row: of the border, or of the last row of the strip above.
inline void load_top(cells_t *up, cells_t *gap, const int above, const int quad, global const uint4 *top,
                     const bool is_free, const int gap_open, const int gap_extend)
{
    if (above == 0) {
        #pragma unroll
        for (int c = 0; c < 4; ++c) {
            up[c] = SPLAT(border(is_free, gap_open, gap_extend, 4 * quad + c + 1));
            gap[c] = ADD(up[c], SPLAT(-gap_open - gap_extend));
        }
        return;
    }
    const uint4 h = top[2 * quad * WG_SIZE], e = top[(2 * quad + 1) * WG_SIZE];
    up[0] = CELLS(h.s0), up[1] = CELLS(h.s1), up[2] = CELLS(h.s2), up[3] = CELLS(h.s3);
    gap[0] = CELLS(e.s0), gap[1] = CELLS(e.s1), gap[2] = CELLS(e.s2), gap[3] = CELLS(e.s3);
}

inline void store_top(global uint4 *top, const int quad, const cells_t *up, const cells_t *gap)
{
    top[2 * quad * WG_SIZE] = (uint4)(WORD(up[0]), WORD(up[1]), WORD(up[2]), WORD(up[3]));
    top[(2 * quad + 1) * WG_SIZE] = (uint4)(WORD(gap[0]), WORD(gap[1]), WORD(gap[2]), WORD(gap[3]));
}

inline cells_t most_of(const cells_t *best)
{
    return MAX(MAX(best[0], best[1]), MAX(best[2], best[3]));
}

// Whether a cell of column j of a strip may be the end of a pair, and better than the best one so far.
inline bool may_end(const pair_t *pair, const end_t *end, const int *from, const int j, const cells_t *best)
{
    bool may = false;
#if LOCAL
    const cells_t most = most_of(best);
#endif
    #pragma unroll
    for (int l = 0; l < LANES; ++l)
#if LOCAL
        may |= LANE(most, l) >= end[l].needed;
#else
        may |= j >= from[l] && j <= pair[l].m;
#endif
    return may;
}

// Write the score of a pair, with ENDS also the cell where it ends.
inline void write_result(global int *results, const uint number, const end_t end, const int best)
{
#if ENDS
    results[3 * (size_t)number] = end.score;
    results[3 * (size_t)number + 1] = end.row;
    results[3 * (size_t)number + 2] = end.column;
#else
    results[number] = LOCAL ? best : end.score;
#endif
}
