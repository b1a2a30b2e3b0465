// keys/radix_digit.h: how a radix pass reads keys and takes its digit from them. After keys/key_order.h; the includer defines
// CLGEOM_PLAIN = 1 where the keys were stored as digits by an earlier pass.
#ifndef CLGEOM_PLAIN
#define CLGEOM_PLAIN 0
#endif

// The unsigned integer by which the key is sorted.
inline key_t key_image(key_t bits, key_t flip)
{
#if CLGEOM_PLAIN
    return bits;
#else
    return key_digits(bits, flip);
#endif
}

inline uint radix_digit(key_t bits, key_t flip, uint shift, uint mask)
{
    return (uint)(key_image(bits, flip) >> shift) & mask;
}
