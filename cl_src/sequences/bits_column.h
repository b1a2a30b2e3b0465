// bits_column.h: a column of the table of two sequences as its differences down the rows, WORD_BITS cells in each word.
//
// lcs: bit 0 where the length grows by one. edit: two words, for +1 and -1. The carries of a block of 32 columns are the
// steps to the right below its rows: bit c of column c. The includer has word_t, WORD_BITS, WORDS and EDIT (0: lcs).
// Cost: 5 (lcs) or 15 (edit) operations on a word per column and word.
// Sources: lcs: Hyyro, "Bit-parallel LCS-length computation revisited" (2004); edit: Myers, "A fast bit-vector
// algorithm for approximate string matching based on dynamic programming" (1999), with the carries of Hyyro (2003).
#define CARRIES (1 + EDIT)

typedef struct { word_t grow[WORDS], fall[WORDS]; } column_t;     // lcs: grow only
typedef struct { uint up[CARRIES]; } carry_t;

// The column to the right, from the masks of its symbol; `equal` gets bits where the distance is that on the diagonal
// before (edit), `at` is the index of the column in its block.
inline void step_right(column_t *column, const word_t *masks, const carry_t *in, carry_t *out, word_t *equal, const uint at)
{
#if EDIT
    word_t plus = (in->up[0] >> at) & 1, minus = (in->up[1] >> at) & 1;   // the step to the right above
    #pragma unroll
    for (uint w = 0; w < WORDS; ++w) {
        const word_t grow = column->grow[w], fall = column->fall[w], mask = masks[w];
        const word_t across = mask | fall, same = mask | minus;
        const word_t zero = (((same & grow) + grow) ^ grow) | same;
        equal[w] = zero | fall;
        const word_t right_grow = fall | ~(zero | grow), right_fall = grow & zero;
        const word_t next_grow = (right_grow << 1) | plus, next_fall = (right_fall << 1) | minus;
        plus = right_grow >> (WORD_BITS - 1);
        minus = right_fall >> (WORD_BITS - 1);
        column->grow[w] = next_fall | ~(across | next_grow);
        column->fall[w] = next_grow & across;
    }
    out->up[0] |= (uint)plus << at;
    out->up[1] |= (uint)minus << at;
#else
    word_t carried = (in->up[0] >> at) & 1;
    #pragma unroll
    for (uint w = 0; w < WORDS; ++w) {
        const word_t grow = column->grow[w], matched = grow & masks[w];
#if WORD_BITS == 32
        const ulong sum = (ulong)grow + matched + carried;
        carried = (uint)(sum >> 32);
        column->grow[w] = (uint)sum | (grow & ~masks[w]);
#else
        const word_t sum = grow + matched, with_carry = sum + carried;
        carried = (sum < matched) | (with_carry < sum);
        column->grow[w] = with_carry | (grow & ~masks[w]);
#endif
    }
    out->up[0] |= (uint)carried << at;
#endif
}

// A column from memory and to it: the words of `grow`, then those of `fall`.
inline void load_column(column_t *column, global const word_t *from, const uint words)
{
    for (uint w = 0; w < WORDS; ++w) {
        column->grow[w] = from[w];
#if EDIT
        column->fall[w] = from[words + w];
#endif
    }
}

inline void store_column(global word_t *to, const column_t *column, const uint words)
{
    for (uint w = 0; w < WORDS; ++w) {
        to[w] = column->grow[w];
#if EDIT
        to[words + w] = column->fall[w];
#endif
    }
}
