// keys/bits.h: unsigned integers by their width, for keys and payloads that kernels move without regard to their type.
typedef uchar bits8_t;
typedef ushort bits16_t;
typedef uint bits32_t;
typedef ulong bits64_t;

#define CLGEOM_BITS_T(width) CLGEOM_BITS_T_(width)   // expands `width` first
#define CLGEOM_BITS_T_(width) bits##width##_t
