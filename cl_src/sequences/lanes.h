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

// A table of columns order[block] .. order[block + LANES - 1], the last one repeated: for each letter, of which there are
// `symbols` from `least` on, bits of the columns' letters that are equal. `own`: bits of all letters. Column i is letters[columns[i] ..
// columns[i + 1] - 1].
inline void fill_table(global const uchar *letters, const uint least, const uint symbols,
                       global const uint *columns, global const uint *order, const uint block, const uint last, private ulong4 *tables,
                       private ulong4 *own, private uint *places, private uint *sizes)
{
    for (uint k = 0; k < symbols * VECTORS; ++k)
        tables[k] = 0;
    for (uint q = 0; q < VECTORS; ++q)
        own[q] = 0;
    for (uint l = 0; l < LANES; ++l) {
        const uint column = order[min(block + l, last)], begin = columns[column], size = columns[column + 1] - begin;
        const uint word = l * BITS / 64, shift = l * BITS % 64;
        places[l] = column;
        sizes[l] = size;
        ((private ulong *)own)[word] |= size == 0 ? 0 : ULONG_MAX >> (64 - size) << shift;
        for (uint k = 0; k < size; ++k)
            ((private ulong *)tables)[(letters[begin + k] - least) * WORDS + word] |= (ulong)1 << (shift + k);
    }
}
