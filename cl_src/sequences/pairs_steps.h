// The steps of align_pairs, in the order in which the kernel takes them. It defines the macros and cells_t.
//
// Steps that take arrays of a work-item are inlined, so that these are in registers. In memory PoCL for CPUs would confuse
// them: it takes a cast of an array of 8 bytes, like that of `code`, for the same in all work-items of a group.
#define STEP inline __attribute__((always_inline))

// Words of the profile that are read at once, of rows 4 * WIDE * wide .. of a strip against a code, of a lane of this
// work-item, whose words begin at `profile`.
#define PROFILE(profile, code, wide, lane) (profile)[(((code) * (FOURS / WIDE) + (wide)) * LANES + (lane)) * WG_SIZE]
#if WIDE == 4
typedef uint4 words_t;
#elif WIDE == 2
typedef uint2 words_t;
#else
typedef uint words_t;
#endif

STEP void spread(uint words[WIDE][LANES], const int lane, const words_t value)
{
#if WIDE == 4
    words[0][lane] = value.s0, words[1][lane] = value.s1, words[2][lane] = value.s2, words[3][lane] = value.s3;
#elif WIDE == 2
    words[0][lane] = value.s0, words[1][lane] = value.s1;
#else
    words[0][lane] = value;
#endif
}

STEP words_t joined(const uint words[WIDE])
{
#if WIDE == 4
    return (uint4)(words[0], words[1], words[2], words[3]);
#elif WIDE == 2
    return (uint2)(words[0], words[1]);
#else
    return words[0];
#endif
}

#define WORD_OF(vector, word) ((word) == 0 ? (vector).s0 : (word) == 1 ? (vector).s1 : (word) == 2 ? (vector).s2 : (vector).s3)

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

// Copy the codes of 256 letters to local memory: PAD and a mark of those outside the alphabet, and PAD for none.
#define NO_LETTER 256
#define WRONG 0x80
inline void read_codes(local uchar *codes, global const uchar *all)
{
    for (uint k = get_local_id(0); k <= NO_LETTER; k += WG_SIZE)
        codes[k] = k == NO_LETTER ? PAD : all[k] == UNKNOWN ? PAD | WRONG : all[k];
}

// Write the codes of the columns of all lanes, four in a word: those of this member of the team. Returns whether a letter
// is outside the alphabet.
STEP uint write_columns(global uint *letters, const pair_t *pair, const int member, const int quads,
                        global const uchar *b, local const uchar *codes, const uint reverse)
{
    uint wrong = 0;
    for (int quad = member; quad < quads; quad += TEAM) {
        #pragma unroll
        for (int l = 0; l < LANES; ++l) {
            global const uchar *from = b + pair[l].b + (reverse ? pair[l].m - 1 - 4 * quad : 4 * quad);
            uint four = 0;
            #pragma unroll
            for (int k = 0; k < 4; ++k)
                four |= (uint)codes[4 * quad + k < pair[l].m ? (uint)from[reverse ? -k : k] : NO_LETTER] << 8 * k;
            wrong |= four;
            letters[(quad * LANES + l) * TEAMS] = four & 0x7f7f7f7f;
        }
    }
    return wrong & 0x80808080u;
}

// The scores of 4 * WIDE rows against 16 codes, from vectors of the table, whose words have those of four codes.
STEP void write_profile(local words_t *profile, const uint *row, const int vector, local const uint4 *table)
{
    uint4 of[4 * WIDE];
    #pragma unroll
    for (int r = 0; r < 4 * WIDE; ++r)
        of[r] = table[row[r] + vector];
    #pragma unroll
    for (int word = 0; word < 4; ++word) {
        uint scores[4][WIDE];    // of four codes
        #pragma unroll
        for (int w = 0; w < WIDE; ++w) {
            const uint s0 = WORD_OF(of[4 * w], word), s1 = WORD_OF(of[4 * w + 1], word);
            const uint s2 = WORD_OF(of[4 * w + 2], word), s3 = WORD_OF(of[4 * w + 3], word);
            const uint x = BYTES(s0, s1, 0, 4, 1, 5), y = BYTES(s2, s3, 0, 4, 1, 5);
            const uint z = BYTES(s0, s1, 2, 6, 3, 7), t = BYTES(s2, s3, 2, 6, 3, 7);
            scores[0][w] = BYTES(x, y, 0, 1, 4, 5);
            scores[1][w] = BYTES(x, y, 2, 3, 6, 7);
            scores[2][w] = BYTES(z, t, 0, 1, 4, 5);
            scores[3][w] = BYTES(z, t, 2, 3, 6, 7);
        }
        #pragma unroll
        for (int k = 0; k < 4; ++k)
            if (16 * vector + 4 * word + k < CODES)
                PROFILE(profile, 16 * vector + 4 * word + k, 0, 0) = joined(scores[k]);
    }
}

// Fill the profiles of the rows of a strip. Returns whether a letter is outside the alphabet.
STEP uint fill_profiles(local words_t *profile, const pair_t *pair, const int above, global const uchar *a,
                        local const uchar *codes, local const uint4 *table)
{
    uint wrong = 0;
    uint row[LANES][4 * FOURS];
    #pragma unroll
    for (int l = 0; l < LANES; ++l) {
        global const uchar *from = a + pair[l].a + above;
        #pragma unroll
        for (int r = 0; r < 4 * FOURS; ++r)
            row[l][r] = r < ROWS && above + r < pair[l].n ? (uint)from[r] : NO_LETTER;
    }
    #pragma unroll
    for (int l = 0; l < LANES; ++l)
        #pragma unroll
        for (int r = 0; r < 4 * FOURS; ++r) {
            const uint code = codes[row[l][r]];
            wrong |= code;
            row[l][r] = (code & ~WRONG) * STRIDE;
        }
    for (int vector = 0; vector < VECTORS; ++vector)
        #pragma unroll
        for (int l = 0; l < LANES; ++l)
            #pragma unroll
            for (int wide = 0; wide < FOURS / WIDE; ++wide)
                write_profile(profile + (wide * LANES + l) * WG_SIZE, row[l] + 4 * WIDE * wide, vector, table);
    return wrong & WRONG;
}

// The column from which on the strip below row `above` has cells that may be the end.
inline int first_end(const pair_t pair, const int above, const int free_ends)
{
    const bool is_last = pair.n > above && pair.n <= above + ROWS;
    return is_last && (free_ends & B_END) ? 1 : is_last || (pair.n > above && (free_ends & A_END)) ? pair.m : INT_MAX;
}

// Take cell (i, j) as the end of a pair if it may be it, and is better.
STEP void note_end(end_t *end, const pair_t pair, const int value, const int i, const int j, const int free_ends)
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

#if LOCAL && ENDS
// Take the best cell of column j of a strip, in its first row with H of `most`, as the end of each pair if it is better.
// A cell beyond a pair is never better than the one within, above or left of it, that its score comes from.
STEP void note_column(end_t *end, const pair_t *pair, const cells_t *h, const cells_t most, const int above, const int j)
{
    cells_t first = SPLAT(0);    // rows from it to the last
    #pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const uint less = WORD(MAX(ADD(h[r], NEGATED(most)), SPLAT(-1)));    // 0 where it is the greatest, or all bits
        first = MAX(first, CELLS(~less & WORD(SPLAT(ROWS - r))));
    }
    #pragma unroll
    for (int l = 0; l < LANES; ++l)
        note_end(&end[l], pair[l], LANE(most, l), above + ROWS + 1 - LANE(first, l), j, 0);
}
#endif

// H and F of the rows of the strip below row `above`, left of its first column.
STEP void begin_strip(cells_t *h, cells_t *f, const int above, const bool is_free, const int gap_open,
                      const int gap_extend)
{
    #pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        h[r] = SPLAT(border(is_free, gap_open, gap_extend, above + r + 1));
        f[r] = ADD(h[r], SPLAT(-gap_open - gap_extend));
    }
}

// H above four columns of a strip, and E of its first row: of the border, or of the last row of the strip above; and the
// codes of the columns.
STEP void read_columns(cells_t *up, cells_t *gap, uint *code, const int above, const int quad, global const uint4 *top,
                       global const uint *letters, const bool is_free, const int gap_open, const int gap_extend)
{
    #pragma unroll
    for (int l = 0; l < LANES; ++l)
        code[l] = letters[(quad * LANES + l) * TEAMS];
    if (above == 0) {
        #pragma unroll
        for (int c = 0; c < 4; ++c) {
            up[c] = SPLAT(border(is_free, gap_open, gap_extend, 4 * quad + c + 1));
            gap[c] = ADD(up[c], SPLAT(-gap_open - gap_extend));
        }
        return;
    }
    const uint4 h = top[2 * quad * TEAMS], e = top[(2 * quad + 1) * TEAMS];
    up[0] = CELLS(h.s0), up[1] = CELLS(h.s1), up[2] = CELLS(h.s2), up[3] = CELLS(h.s3);
    gap[0] = CELLS(e.s0), gap[1] = CELLS(e.s1), gap[2] = CELLS(e.s2), gap[3] = CELLS(e.s3);
}

STEP void store_top(global uint4 *top, const int quad, const cells_t *up, const cells_t *gap)
{
    top[2 * quad * TEAMS] = (uint4)(WORD(up[0]), WORD(up[1]), WORD(up[2]), WORD(up[3]));
    top[(2 * quad + 1) * TEAMS] = (uint4)(WORD(gap[0]), WORD(gap[1]), WORD(gap[2]), WORD(gap[3]));
}

// Whether a cell of column j of a strip may be the end of a pair, and better than the best one so far.
STEP bool may_end(const pair_t *pair, const end_t *end, const int *from, const int j, const cells_t *best)
{
    bool may = false;
#if LOCAL
    const cells_t most = MAX(best[0], best[1]);
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
