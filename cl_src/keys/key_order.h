// keys/key_order.h: sort keys as unsigned integers that compare as the keys do.
//
// The includer defines CLGEOM_KEY_BITS (8, 16, 32 or 64) and CLGEOM_KEY_FLOAT (1 for floats, 2 for dates and durations
// of 64 bits, 0 for integers), and passes `flip` of clgeom.sorting.keys.KeyOrder, the mask for signed integers and descending orders.
//
//   key_t                    the unsigned type that holds a key's bits
//   key_digits(bits, flip)   the ordered key, equal for equal keys: -0.0 as +0.0, every NaN as all ones. For stable
//                            sorts, which move the original bits.
//   key_encode(bits, flip)   a bijection, hence a total order of the bits, in line with the digits: -0.0 before +0.0,
//   key_decode(code, flip)   NaN by sign and payload. For unstable sorts, which move codes and decode them at the end.
//
// NaN of any sign comes last, in ascending and descending order, and so does NaT, the lowest int64. Floats are handled as integers only, so the device need
// not support half or double.
//
//   float32 bits   -NaN        -inf .. -0.0   +0.0 .. +inf   +NaN
//   key_encode     top         0 ..                  LAST    between LAST and the top
#ifndef CLGEOM_KEY_BITS
#define CLGEOM_KEY_BITS 32
#endif
#ifndef CLGEOM_KEY_FLOAT
#define CLGEOM_KEY_FLOAT 0
#endif

#if CLGEOM_KEY_BITS == 8
typedef uchar key_t;
typedef char key_signed_t;
#elif CLGEOM_KEY_BITS == 16
typedef ushort key_t;
typedef short key_signed_t;
#define CLGEOM_KEY_INF ((key_t)0x7c00)
#elif CLGEOM_KEY_BITS == 32
typedef uint key_t;
typedef int key_signed_t;
#define CLGEOM_KEY_INF ((key_t)0x7f800000)
#else
typedef ulong key_t;
typedef long key_signed_t;
#define CLGEOM_KEY_INF ((key_t)0x7ff0000000000000UL)
#endif
#define CLGEOM_KEY_SIGN ((key_t)((key_t)1 << (CLGEOM_KEY_BITS - 1)))

#if CLGEOM_KEY_FLOAT == 1

// Negative floats are complemented, positive ones get the sign bit.
inline key_t key_unfold(key_t bits)
{
    return bits ^ ((key_t)((key_signed_t)bits >> (CLGEOM_KEY_BITS - 1)) | CLGEOM_KEY_SIGN);
}

// All ones for NaN, else 0. Without a branch, for serial loops.
inline key_t key_nan_mask(key_t bits)
{
    return (key_t)0 - (key_t)((key_t)(bits << 1) > (key_t)(CLGEOM_KEY_INF << 1));
}

inline key_t key_digits(key_t bits, key_t flip)
{
    const key_t ordered = key_unfold(bits) + (key_t)(bits == CLGEOM_KEY_SIGN);   // -0.0 lies just below +0.0
    return (ordered ^ flip) | key_nan_mask(bits);
}

inline key_t key_of_digits(key_t digits, key_t flip)
{
    const key_t unfolded = digits ^ flip;
    return unfolded & CLGEOM_KEY_SIGN ? (key_t)(unfolded ^ CLGEOM_KEY_SIGN) : (key_t)~unfolded;
}

#define CLGEOM_KEY_FIRST ((key_t)~(CLGEOM_KEY_INF | CLGEOM_KEY_SIGN))                     // key_unfold of -inf
#define CLGEOM_KEY_LAST ((key_t)((CLGEOM_KEY_INF | CLGEOM_KEY_SIGN) - CLGEOM_KEY_FIRST))  // key_encode of +inf

inline key_t key_encode(key_t bits, key_t flip)
{
    const key_t code = key_unfold(bits) - CLGEOM_KEY_FIRST;   // the NaNs below -inf wrap around to the top
    return flip && code <= CLGEOM_KEY_LAST ? (key_t)(CLGEOM_KEY_LAST - code) : code;
}

inline key_t key_decode(key_t code, key_t flip)
{
    const key_t ascending = flip && code <= CLGEOM_KEY_LAST ? (key_t)(CLGEOM_KEY_LAST - code) : code;
    const key_t unfolded = ascending + CLGEOM_KEY_FIRST;
    return unfolded & CLGEOM_KEY_SIGN ? (key_t)(unfolded ^ CLGEOM_KEY_SIGN) : (key_t)~unfolded;
}

#elif CLGEOM_KEY_FLOAT == 2

inline key_t key_nan_mask(key_t bits) { return (key_t)0 - (key_t)(bits == CLGEOM_KEY_SIGN); }

// The lowest int64 is 0 in ascending order, and wraps around to the top. In descending order it is last by itself.
inline key_t key_late(key_t flip) { return flip >> (CLGEOM_KEY_BITS - 1); }
inline key_t key_digits(key_t bits, key_t flip) { return (bits ^ flip) - key_late(flip); }
inline key_t key_of_digits(key_t digits, key_t flip) { return (digits + key_late(flip)) ^ flip; }

#else  // integers

inline key_t key_nan_mask(key_t bits) { return 0; }

inline key_t key_digits(key_t bits, key_t flip) { return bits ^ flip; }
inline key_t key_of_digits(key_t digits, key_t flip) { return digits ^ flip; }
inline key_t key_encode(key_t bits, key_t flip) { return bits ^ flip; }
inline key_t key_decode(key_t code, key_t flip) { return code ^ flip; }

#endif
