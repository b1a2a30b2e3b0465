// geometry/orient2d.h: the exact sign of twice the signed area of the triangle a, b, c:
//
//     det = (ax - cx)(by - cy) - (ay - cy)(bx - cx)        +1: c is left of a -> b (counter-clockwise),
//                                                          -1: right of it,  0: on the line.
//
// The includer has REAL (float, double or int, the type of coordinates: see geometry/points.h) and FILTERED: 0 leaves out
// the floating-point filters, for a device whose arithmetic failed the self-test.
//
//   float, double   1. filter: det in floating point with a bound on its error decides almost every triple
//                      (Ozaki, Buenger, Ogita, Oishi, Rump: Simple floating-point filters for the two-dimensional
//                      orientation problem, BIT 56, 2016, theorem 3.1: |det| > theta |l + r| for det = l - r);
//                   2. in double, where the device has it: if the four differences are exact, as they are between
//                      neighbours and on grids, comparing the products, then their rounding errors, is exact, too;
//                   3. float on devices with double: the filter in double, where no product can underflow;
//                   4. the six products of the expanded determinant, summed exactly in a fixed-point accumulator of
//                      integers, for all magnitudes. Contraction and flushing have no effect on it.
//   int             factors of 33 bits, products of 66: compared as two words.

#include "geometry/points.h"

#if defined(CLGEOM_COORD_int)

inline int orient2d(real_t ax, real_t ay, real_t bx, real_t by, real_t cx, real_t cy)
{
    const long acx = (long)ax - cx, acy = (long)ay - cy, bcx = (long)bx - cx, bcy = (long)by - cy;
    const long left_high = mul_hi(acx, bcy), right_high = mul_hi(acy, bcx);
    const ulong left_low = (ulong)acx * (ulong)bcy, right_low = (ulong)acy * (ulong)bcx;
    if (left_high != right_high)
        return left_high > right_high ? 1 : -1;
    return (left_low > right_low) - (left_low < right_low);
}

#else  // float or double

#if defined(CLGEOM_COORD_double)
typedef ulong bits_t;
#define CLGEOM_AS_BITS as_ulong
#define CLGEOM_MANTISSA_BITS 52
#define CLGEOM_EXPONENT_FIELD 0x7ff
#define CLGEOM_EXPONENT_BIAS 1075
#define CLGEOM_LIMBS 136     // 2 * (971 + 1074) bits between the smallest and largest product, 107 bits each
#else
typedef uint bits_t;
#define CLGEOM_AS_BITS as_uint
#define CLGEOM_MANTISSA_BITS 23
#define CLGEOM_EXPONENT_FIELD 0xff
#define CLGEOM_EXPONENT_BIAS 150
#define CLGEOM_LIMBS 24      // 2 * (104 + 149) bits, products of 48
#endif

// A coordinate is sign * mantissa * 2^exponent, exactly.
typedef struct { ulong mantissa; int exponent; int sign; } parts_t;

inline parts_t coord_parts(real_t value)
{
    const bits_t bits = CLGEOM_AS_BITS(value);
    const int field = (int)(bits >> CLGEOM_MANTISSA_BITS) & CLGEOM_EXPONENT_FIELD;
    const bits_t fraction = bits & (((bits_t)1 << CLGEOM_MANTISSA_BITS) - 1);
    parts_t parts;
    parts.mantissa = field ? fraction | ((bits_t)1 << CLGEOM_MANTISSA_BITS) : fraction;
    parts.exponent = max(field, 1) - CLGEOM_EXPONENT_BIAS;
    parts.sign = bits >> (sizeof(bits_t) * 8 - 1) ? -1 : 1;
    return parts;
}

// Adds sign * p * q to the accumulator, whose limb k counts units of 2^(base + 32 k). Limbs are signed and wider
// than their 32 bits, so that carries can wait until the end.
inline void accumulate_product(long *limbs, int base, parts_t p, parts_t q, int sign)
{
    const ulong low = p.mantissa * q.mantissa, high = mul_hi(p.mantissa, q.mantissa);
    if ((low | high) == 0)
        return;
    const int position = p.exponent + q.exponent - base, shift = position & 31;
    const ulong word0 = low << shift;
    const ulong word1 = high << shift | (shift ? low >> (64 - shift) : 0);
    const ulong word2 = shift ? high >> (64 - shift) : 0;
    long *limb = limbs + (position >> 5);
    sign *= p.sign * q.sign;
    limb[0] += sign * (long)(word0 & 0xffffffff);
    limb[1] += sign * (long)(word0 >> 32);
    limb[2] += sign * (long)(word1 & 0xffffffff);
    limb[3] += sign * (long)(word1 >> 32);
    limb[4] += sign * (long)(word2 & 0xffffffff);
}

inline void widen_range(int *lowest, int *highest, parts_t p, parts_t q)
{
    if (p.mantissa == 0 || q.mantissa == 0)
        return;
    *lowest = min(*lowest, p.exponent + q.exponent);
    *highest = max(*highest, p.exponent + q.exponent);
}

// ax by - ay bx + bx cy - by cx + cx ay - cy ax, exactly.
inline int orient2d_integer(real_t ax, real_t ay, real_t bx, real_t by, real_t cx, real_t cy)
{
    const parts_t pax = coord_parts(ax), pay = coord_parts(ay), pbx = coord_parts(bx), pby = coord_parts(by),
                  pcx = coord_parts(cx), pcy = coord_parts(cy);
    int lowest = INT_MAX, highest = INT_MIN;
    widen_range(&lowest, &highest, pax, pby);
    widen_range(&lowest, &highest, pay, pbx);
    widen_range(&lowest, &highest, pbx, pcy);
    widen_range(&lowest, &highest, pby, pcx);
    widen_range(&lowest, &highest, pcx, pay);
    widen_range(&lowest, &highest, pcy, pax);
    if (lowest > highest)
        return 0;

    long limbs[CLGEOM_LIMBS];
    const int used = ((highest - lowest) >> 5) + 5;
    for (int k = 0; k < used; ++k)
        limbs[k] = 0;
    accumulate_product(limbs, lowest, pax, pby, 1);
    accumulate_product(limbs, lowest, pay, pbx, -1);
    accumulate_product(limbs, lowest, pbx, pcy, 1);
    accumulate_product(limbs, lowest, pby, pcx, -1);
    accumulate_product(limbs, lowest, pcx, pay, 1);
    accumulate_product(limbs, lowest, pcy, pax, -1);

    long carry = 0;
    int nonzero = 0;
    for (int k = 0; k < used; ++k) {
        const long sum = limbs[k] + carry;
        nonzero |= (sum & 0xffffffff) != 0;
        carry = sum >> 32;
    }
    return carry < 0 ? -1 : (carry > 0 || nonzero);
}

#define CLGEOM_THETA_double 3.3306690621773722e-16
#define CLGEOM_THETA_float 1.787994676760718e-07f

// The filter in one precision: returns the sign, or continues below where the bound does not decide. Overflow makes
// the comparison false. The constant covers products that underflow, flushed or not. No fabs: PoCL calls a function.
#define CLGEOM_FILTER(real, SMALLEST)                                                              \
    {                                                                                              \
        const real left = ((real)ax - (real)cx) * ((real)by - (real)cy);                           \
        const real right = ((real)ay - (real)cy) * ((real)bx - (real)cx);                          \
        const real det = left - right;                                                             \
        const real sum = left + right, size = sum < 0 ? -sum : sum;                                \
        if ((det < 0 ? -det : det) > CLGEOM_THETA_##real * size + 4 * SMALLEST)                    \
            return det > 0 ? 1 : -1;                                                               \
    }

#if CLGEOM_FP64
// Whether d is a - b without error: adding d to the smaller of the two shows a lost part.
#define CLGEOM_EXACT_DIFFERENCE(a, b, d) ((d) + (b) == (a) && (a) - (d) == (b))

// The sign, or 2 where a difference is rounded or a product so large or small that its error may be lost.
inline int orient2d_of_differences(double ax, double ay, double bx, double by, double cx, double cy)
{
    const double acx = ax - cx, acy = ay - cy, bcx = bx - cx, bcy = by - cy;
    const double left = acx * bcy, right = acy * bcx;
    if (!(CLGEOM_EXACT_DIFFERENCE(ax, cx, acx) && CLGEOM_EXACT_DIFFERENCE(ay, cy, acy) &&
          CLGEOM_EXACT_DIFFERENCE(bx, cx, bcx) && CLGEOM_EXACT_DIFFERENCE(by, cy, bcy)))
        return 2;
    if (left != right)
        return left > right ? 1 : -1;      // rounding keeps the order, of infinities too
    if (!(fabs(left) < 1e300))
        return 2;
    if (fabs(left) < 1e-280)
        return (acx == 0 || bcy == 0) && (acy == 0 || bcx == 0) ? 0 : 2;
    const double left_error = fma(acx, bcy, -left), right_error = fma(acy, bcx, -right);
    return (left_error > right_error) - (left_error < right_error);
}
#endif

// Where subnormals are flushed, differences are safe only between numbers that are zero or at least 2^-100.
inline int orient2d_flushable(real_t v)
{
#if CLGEOM_DENORMALS || defined(CLGEOM_COORD_double)
    return 0;
#else
    return (as_uint(v) & 0x7fffffff) != 0 && (as_uint(v) & 0x7f800000) < ((127u - 100u) << 23);
#endif
}

inline int orient2d_any_flushable(real_t ax, real_t ay, real_t bx, real_t by, real_t cx, real_t cy)
{
    return orient2d_flushable(ax) | orient2d_flushable(ay) | orient2d_flushable(bx) | orient2d_flushable(by) |
           orient2d_flushable(cx) | orient2d_flushable(cy);
}

// Stages 2 to 4. It is not inlined: kernels test orientation in many places, and need this seldom.
int __attribute__((noinline)) orient2d_undecided(real_t ax, real_t ay, real_t bx, real_t by, real_t cx, real_t cy)
{
#if FILTERED && CLGEOM_FP64
    if (orient2d_any_flushable(ax, ay, bx, by, cx, cy))    // a conversion to double may flush, too
        return orient2d_integer(ax, ay, bx, by, cx, cy);
    const int sign = orient2d_of_differences(ax, ay, bx, by, cx, cy);
    if (sign != 2)
        return sign;
#if defined(CLGEOM_COORD_float)
    CLGEOM_FILTER(double, DBL_MIN)
#endif
#endif
    return orient2d_integer(ax, ay, bx, by, cx, cy);
}

inline int orient2d(real_t ax, real_t ay, real_t bx, real_t by, real_t cx, real_t cy)
{
#if FILTERED
#if defined(CLGEOM_COORD_double)
    CLGEOM_FILTER(double, DBL_MIN)
#else
    if (!orient2d_any_flushable(ax, ay, bx, by, cx, cy))
        CLGEOM_FILTER(float, FLT_MIN)
#endif
#endif
    return orient2d_undecided(ax, ay, bx, by, cx, cy);
}

#endif  // float or double
