// lanes.h: short sequences in the lanes of vectors. The includer defines BITS (of a lane), WORDS (of 64 bits), VECTORS
// (WORDS / 4) and LANES (WORDS * 64 / BITS). Vectors of 4 words are passed on, as vload4 of private memory is a call.

// The numbers of bits of all lanes.
inline ulong4 counts_of(ulong4 x)
{
    x -= (x >> 1) & 0x5555555555555555ul;
    x = (x & 0x3333333333333333ul) + ((x >> 2) & 0x3333333333333333ul);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0ful;
#if BITS > 8
    x = (x + (x >> 8)) & 0x00ff00ff00ff00fful;
#endif
#if BITS > 16
    x = (x + (x >> 16)) & 0x0000ffff0000fffful;
#endif
#if BITS > 32
    x = (x + (x >> 32)) & 0x00000000fffffffful;
#endif
    return x;
}

// A table of columns block .. block + LANES - 1, the last one repeated: for each letter, of which there are `symbols`,
// bits of the columns' letters that are equal. `own`: bits of all letters. columns: begin, length, index of each.
inline void fill_table(global const uchar *letters, const uint symbols, global const uint *columns, const uint block,
                       const uint last, private ulong4 *tables, private ulong4 *own, private uint *places)
{
    for (uint k = 0; k < symbols * VECTORS; ++k)
        tables[k] = 0;
    for (uint q = 0; q < VECTORS; ++q)
        own[q] = 0;
    for (uint l = 0; l < LANES; ++l) {
        global const uint *column = columns + 3 * min(block + l, last);
        const uint word = l * BITS / 64, shift = l * BITS % 64;
        places[l] = column[2];
        ((private ulong *)own)[word] |= column[1] == 0 ? 0 : ULONG_MAX >> (64 - column[1]) << shift;
        for (uint k = 0; k < column[1]; ++k)
            ((private ulong *)tables)[letters[column[0] + k] * WORDS + word] |= (ulong)1 << (shift + k);
    }
}
