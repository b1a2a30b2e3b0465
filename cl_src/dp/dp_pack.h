// dp/dp_pack.h: packs the choices of a row of cells from a byte each to BITS each: 8 / BITS to a byte, that of the first
// column in the lowest bits. The includer has BITS, which is 1, 2, 4 or 8, and WG_SIZE.
#define PER_BYTE (8 / BITS)

// Packs `count` choices by a work-group. Both arrays begin at a whole byte, and `won` is readable to the end of one.
inline void group_pack(global uchar *packed, local const uchar *won, const int count, const int lid)
{
    for (int x = lid * PER_BYTE; x < count; x += WG_SIZE * PER_BYTE) {
        uint byte = 0;
        for (int c = 0; c < PER_BYTE; ++c)
            byte |= (uint)won[x + c] << (c * BITS);
        packed[x / PER_BYTE] = (uchar)byte;
    }
}

// Packs PER_BYTE choices by one work-item. A multiplication moves the byte of each column to its bits in the highest byte.
// `won` is aligned for one load.
inline uchar item_pack(global const uchar *won)
{
#if BITS == 1 && defined(__ENDIAN_LITTLE__)
    return (uchar)((*(global const ulong *)won & 0x0101010101010101UL) * 0x0102040810204080UL >> 56);
#elif BITS == 2 && defined(__ENDIAN_LITTLE__)
    return (uchar)((*(global const uint *)won & 0x03030303u) * 0x01041040u >> 24);
#else
    uint byte = 0;
    for (int c = 0; c < PER_BYTE; ++c)
        byte |= (uint)won[c] << (c * BITS);
    return (uchar)byte;
#endif
}
