// keys/radix_digit.h: the digit of a key in a radix pass, and the form in which the key is stored. After keys/key_order.h.
//
// The includer may define
//
//   CLGEOM_LOAD_ORDERED   1 where an earlier pass stored ordered keys; 0, the default, for unchanged keys
//   CLGEOM_STORE          CLGEOM_STORE_same: a key as it was loaded; _ordered: its ordered key without the `drop` lowest
//                         bits, as a bits<CLGEOM_STORED_BITS>_t; _keys: the key of a stored ordered key
#include "keys/bits.h"
#ifndef CLGEOM_LOAD_ORDERED
#define CLGEOM_LOAD_ORDERED 0
#endif
#define CLGEOM_STORE_same 0
#define CLGEOM_STORE_none 0
#define CLGEOM_STORE_ordered 1
#define CLGEOM_STORE_keys 2
#ifndef CLGEOM_STORE
#define CLGEOM_STORE CLGEOM_STORE_same
#endif

// The unsigned integer by which the key is sorted.
inline key_t ordered_key(key_t bits, key_t flip)
{
#if CLGEOM_LOAD_ORDERED
    return bits;
#else
    return key_digits(bits, flip);
#endif
}

inline uint radix_digit(key_t bits, key_t flip, uint shift, uint mask)
{
    return (uint)(ordered_key(bits, flip) >> shift) & mask;
}

#if CLGEOM_STORE == CLGEOM_STORE_ordered
typedef CLGEOM_BITS_T(CLGEOM_STORED_BITS) stored_t;
inline stored_t stored(key_t bits, key_t flip, uint drop) { return (stored_t)(ordered_key(bits, flip) >> drop); }
#elif CLGEOM_STORE == CLGEOM_STORE_keys
typedef key_t stored_t;
inline stored_t stored(key_t bits, key_t flip, uint drop) { return key_of_digits(bits, flip); }
#else
typedef key_t stored_t;
inline stored_t stored(key_t bits, key_t flip, uint drop) { return bits; }
#endif
