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
//                   4. the six products of the expanded determinant, summed exactly as integers, for all magnitudes.
//                      Contraction and flushing have no effect on it.
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
#else
typedef uint bits_t;
#define CLGEOM_AS_BITS as_uint
#define CLGEOM_MANTISSA_BITS 23
#define CLGEOM_EXPONENT_FIELD 0xff
#define CLGEOM_EXPONENT_BIAS 150
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

// A product of two coordinates: sign * (high 2^64 + low) * 2^exponent, exactly.
typedef struct { ulong low, high; int exponent, sign; } product_t;

inline product_t product_of(parts_t p, parts_t q, int sign)
{
    product_t product;
    product.low = p.mantissa * q.mantissa;
    product.high = mul_hi(p.mantissa, q.mantissa);
    product.exponent = p.exponent + q.exponent;
    product.sign = sign * p.sign * q.sign;
    return product;
}

inline void widen_range(int *lowest, int *highest, product_t p)
{
    if ((p.low | p.high) == 0)
        return;
    *lowest = min(*lowest, p.exponent);
    *highest = max(*highest, p.exponent);
}

// The 32 bits of a product from 2^first on, with its sign.
inline long product_word(product_t p, int first)
{
    const int skip = first - p.exponent;
    ulong word = 0;
    if (skip >= 64 && skip < 128)
        word = p.high >> (skip - 64);
    else if (skip >= 0 && skip < 64)
        word = p.low >> skip | p.high << 1 << (63 - skip);
    else if (skip > -32 && skip < 0)
        word = p.low << -skip;
    return p.sign * (long)(word & 0xffffffff);
}

// ax by - ay bx + bx cy - by cx + cx ay - cy ax, exactly: the sum of the products, 32 bits at a time from the lowest bit
// of all. Few values are held, in registers: an array of all words would be in private memory on GPUs.
inline int orient2d_integer(real_t ax, real_t ay, real_t bx, real_t by, real_t cx, real_t cy)
{
    const parts_t pax = coord_parts(ax), pay = coord_parts(ay), pbx = coord_parts(bx), pby = coord_parts(by),
                  pcx = coord_parts(cx), pcy = coord_parts(cy);
    const product_t p0 = product_of(pax, pby, 1), p1 = product_of(pay, pbx, -1), p2 = product_of(pbx, pcy, 1),
                    p3 = product_of(pby, pcx, -1), p4 = product_of(pcx, pay, 1), p5 = product_of(pcy, pax, -1);
    int lowest = INT_MAX, highest = INT_MIN;
    widen_range(&lowest, &highest, p0);
    widen_range(&lowest, &highest, p1);
    widen_range(&lowest, &highest, p2);
    widen_range(&lowest, &highest, p3);
    widen_range(&lowest, &highest, p4);
    widen_range(&lowest, &highest, p5);
    if (lowest > highest)
        return 0;

    long carry = 0;
    int nonzero = 0;
    for (int first = lowest; first < highest + 128; first += 32) {
        const long sum = carry + product_word(p0, first) + product_word(p1, first) + product_word(p2, first) +
                         product_word(p3, first) + product_word(p4, first) + product_word(p5, first);
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
static int __attribute__((noinline)) orient2d_undecided(real_t ax, real_t ay, real_t bx, real_t by, real_t cx, real_t cy)
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
