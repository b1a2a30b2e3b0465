// coverage/covered.h: whether a cell reaches a level. The includer has VALUE and THRESHOLD, the types of a cell and of a
// level, BELOW, 1 if cells at or below a level are covered, and NODATA, 1 if cells equal to `nodata` have no value.
//
// NaN reaches no level: it compares false.
//
// BY_BITS, 1 for devices that take subnormal numbers for 0: cells are the bits of floats, levels and `nodata` integers in
// the floats' order, so that these numbers count as what they are. NaN then lies beyond the infinities.
#if BY_BITS
#define INFINITE (sizeof(VALUE) == 4 ? (THRESHOLD)0x7f800000 : (THRESHOLD)0x7ff0000000000000)
inline THRESHOLD compared(VALUE bits)
{
    const THRESHOLD size = bits & (VALUE)-1 >> 1;
    return (VALUE)size == bits ? size : -size;
}
#if BELOW
#define REACHES(v, level) (compared(v) <= (level) && compared(v) >= -INFINITE)
#else
#define REACHES(v, level) (compared(v) >= (level) && compared(v) <= INFINITE)
#endif
#else
#define compared(v) ((THRESHOLD)(v))
#if BELOW
#define REACHES(v, level) (compared(v) <= (level))
#else
#define REACHES(v, level) (compared(v) >= (level))
#endif
#endif
#if NODATA
#define COVERED(v, level) (REACHES(v, level) && compared(v) != nodata)
#else
#define COVERED(v, level) REACHES(v, level)
#endif
