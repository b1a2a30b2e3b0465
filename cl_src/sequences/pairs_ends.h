// pairs_ends.h: the least value among the rows of a column that is kept as its differences, and its row.
//
//   grow  0 0 1 0 0 1 1        value, from one row to the next: +1 where `grow` has a bit, -1 where `fall` has one, so it
//   fall  1 0 0 1 0 0 0        can become the least only at bits of `fall`
//
// The includer defines WORD_BITS and bits_t, an unsigned word.

// Pass the first `own` rows of a word, below row `row`: `value` becomes that of the last of them, `least` and `end` the least
// value so far and its row: the first one with it, or the last one if `is_last`.
inline void pass_rows(const bits_t grow, const bits_t fall, const uint own, const uint row, const bool is_last,
                      int *value, int *least, int *end)
{
    const bits_t mask = own == 0 ? 0 : ~(bits_t)0 >> (WORD_BITS - own);
    const int before = *value;
    for (bits_t rest = (is_last ? ~(bits_t)0 : fall) & mask; rest; rest &= rest - 1) {
        const bits_t upto = rest ^ (rest - 1);                     // bits up to the lowest one
        const int now = before + (int)popcount(grow & upto & mask) - (int)popcount(fall & upto & mask);
        if (now < *least || (is_last && now == *least)) {
            *least = now;
            *end = row + (int)popcount(upto);
        }
    }
    *value = before + (int)popcount(grow & mask) - (int)popcount(fall & mask);
}
