// pairs_words.h: a column of the table of two sequences, a word of rows at a time. The includer defines word_t and
// WORD_BITS; word_t may be a vector, each lane of which is a pair of its own.
//
// A column is kept as its differences down the rows. lcs: `grow` has bits where the length does not grow. edit: `grow`
// has bits where the distance grows by one, `fall` where it falls by one. `plus` and `minus` are carried from word to
// word of a column: lcs: the carry of the sum. edit: the step to the right above the word, +1 and -1.

// One word of an lcs column. `equal`: bits of the rows whose letter is that of the column.
inline word_t lcs_word(const word_t equal, const word_t grow, word_t *plus)
{
    const word_t matched = grow & equal, sum = grow + matched + *plus;
    *plus = ((grow & matched) | ((grow | matched) & ~sum)) >> (WORD_BITS - 1);
    return sum | (grow & ~equal);
}

// One word of a column of edit distances. `equal` as above.
inline void edit_word(const word_t equal, word_t *grow, word_t *fall, word_t *plus, word_t *minus)
{
    const word_t across = equal | *fall, near = equal | *minus;
    const word_t zero = (((near & *grow) + *grow) ^ *grow) | near;
    const word_t right_grow = *fall | ~(zero | *grow), right_fall = *grow & zero;
    const word_t next_grow = (right_grow << 1) | *plus, next_fall = (right_fall << 1) | *minus;
    *plus = right_grow >> (WORD_BITS - 1);
    *minus = right_fall >> (WORD_BITS - 1);
    *grow = next_fall | ~(across | next_grow);
    *fall = next_grow & across;
}
