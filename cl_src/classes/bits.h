// classes/bits.h: numbers and places of the bits of a word. The includer has SERIAL. CPU drivers call their built-ins as
// functions; compilers made of Clang have them as instructions.
#ifndef bit_count
#if SERIAL && defined(__has_builtin)
#if __has_builtin(__builtin_ctz) && __has_builtin(__builtin_clz) && __has_builtin(__builtin_popcount)
#define bit_count(word) ((uint)__builtin_popcount(word))
#define highest_bit(word) (31 - (uint)__builtin_clz(word))
#define lowest_bit(word) ((uint)__builtin_ctz(word))
#endif
#endif
#ifndef bit_count
#define bit_count(word) popcount(word)
#define highest_bit(word) (31 - clz(word))
#define lowest_bit(word) (31 - clz((word) & -(word)))
#endif
#endif
