// fronts.h: letters of two sequences compared by words of eight bytes, for fronts of furthest points.
//
//   letters  | 16 bytes | letters of all sequences, in any order | 16 bytes |     words are read beyond their ends
//
// The includer defines LETTER_BYTES, 1, 2 or 4, and WORDS_APART: 1 where one instruction reads a word that is not aligned
// (CPUs), 0 where two aligned words give it (GPUs; `letters` is then aligned to eight bytes).
typedef global const uchar *letters_t;
#if WORDS_APART
typedef struct __attribute__((packed)) { ulong word; } apart_t;   // vload8 would be several loads on PoCL
#endif

// The eight bytes from a letter on.
inline ulong word_at(letters_t letters, const ulong letter)
{
    const ulong at = letter * LETTER_BYTES;
#if WORDS_APART
    return ((global const apart_t *)(letters + at))->word;
#else
    global const ulong *words = (global const ulong *)letters + at / 8;
    const uint shift = (uint)(at % 8) * 8;
    return words[0] >> shift | words[1] << 1 << (63 - shift);
#endif
}

// How many letters are equal, at most `most`, of those from a and b on. It is 0 or more.
inline int equal_ahead(letters_t letters, const ulong a, const ulong b, const int most)
{
    ulong differs = word_at(letters, a) ^ word_at(letters, b);
    int count = 0;
    while (!differs && count < most) {
        count += 8 / LETTER_BYTES;
        differs = word_at(letters, a + count) ^ word_at(letters, b + count);
    }
    count += (uint)popcount(~differs & (differs - 1)) / (8 * LETTER_BYTES);
    return count < most ? count : most;
}

// The same of those before a and b, backwards.
inline int equal_behind(letters_t letters, const ulong a, const ulong b, const int most)
{
    const int word = 8 / LETTER_BYTES;
    ulong differs = word_at(letters, a - word) ^ word_at(letters, b - word);
    int count = 0;
    while (!differs && count < most) {
        count += word;
        differs = word_at(letters, a - word - count) ^ word_at(letters, b - word - count);
    }
    count += (uint)clz(differs) / (8 * LETTER_BYTES);
    return count < most ? count : most;
}
