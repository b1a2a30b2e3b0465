// batch/batch_bounded.h: numbers as sums of two doubles with a bound of the error, and the measures of a caliper in them.
//
// high + low differs from the number by at most `error`. A number is rounded where all numbers within the bound are rounded
// to the same one; otherwise it is in doubt, and the host computes it in integers. Quotients and roots are corrected by
// their remainders: they may be off by some units of the last place. The includer has batch/batch_calipers.h.
#define UNIT 0x1p-100        // larger than the relative error of any operation
#define COARSE 0x1p-40       // error of a divisor or radicand from which on a result says nothing

typedef struct { double high, low, error; } bounded_t;
typedef struct { bounded_t x, y; } bounded2_t;

inline bounded_t bounded(double value)
{
    const bounded_t number = {value, 0, 0};
    return number;
}

inline bounded_t normal(double high, double low, double error)
{
    const double total = high + low;
    const bounded_t number = {total, low - (total - high), error};
    return number;
}

inline bounded_t plus(bounded_t a, bounded_t b)
{
    const double sum = a.high + b.high, part = sum - a.high, rest = (a.high - (sum - part)) + (b.high - part);
    const double lost = a.low != 0 || b.low != 0 ? UNIT * (fabs(a.high) + fabs(b.high)) : 0;
    return normal(sum, rest + (a.low + b.low), a.error + b.error + lost);
}

inline bounded_t minus(bounded_t a, bounded_t b)
{
    const bounded_t negative = {-b.high, -b.low, b.error};
    return plus(a, negative);
}

inline bounded_t times(bounded_t a, bounded_t b)
{
    const double product = a.high * b.high, rest = fma(a.high, b.high, -product);
    const double lost = a.low != 0 || b.low != 0 ? UNIT * fabs(product) : 0;
    return normal(product, rest + (a.high * b.low + a.low * b.high),
                  fabs(a.high) * b.error + fabs(b.high) * a.error + a.error * b.error + lost);
}

inline bounded_t over(bounded_t a, bounded_t b)
{
    const double quotient = a.high / b.high, rest = fma(-quotient, b.high, a.high) + (a.low - quotient * b.low);
    const double error = 1.01 * (a.error + fabs(quotient) * b.error) / fabs(b.high) + UNIT * fabs(quotient);
    return normal(quotient, rest / b.high, b.error <= COARSE * fabs(b.high) ? error : INFINITY);
}

inline bounded_t root_of(bounded_t a)
{
    const double root = sqrt(fmax(a.high, 0.0));
    if (root == 0)
        return normal(0, 0, a.error == 0 ? 0 : INFINITY);
    const double rest = fma(-root, root, a.high) + a.low;
    return normal(root, rest / (2 * root), a.error <= COARSE * a.high ? a.error / root + UNIT * root : INFINITY);
}

// The number rounded; clears sure[0] if others within the bound are rounded to another one.
inline double rounded(bounded_t a, int *sure)
{
    const double margin = 1.01 * a.error, low = a.high + (a.low - margin), high = a.high + (a.low + margin);
    sure[0] &= low == high;
    return low + 0.0;                              // no -0.0
}

inline bounded2_t bounded_step(double2 a, double2 b)
{
    const bounded2_t step = {minus(bounded(b.x), bounded(a.x)), minus(bounded(b.y), bounded(a.y))};
    return step;
}

inline bounded_t bounded_cross(bounded2_t a, bounded2_t b)
{
    return minus(times(a.x, b.y), times(a.y, b.x));
}

inline bounded_t bounded_dot(bounded2_t a, bounded2_t b)
{
    return plus(times(a.x, b.x), times(a.y, b.y));
}

// The numbers of a caliper, as numbers_of in clgeom/hull/calipers.py; returns whether all are sure. A diameter and a width
// have one, a rectangle its area, perimeter, length, height and corners.
inline int item_numbers(polygon_t p, uint purpose, caliper_t c, global double *numbers)
{
    int sure = 1;
    const double2 a = corner_of(p, c.edge), across = corner_of(p, c.across);
    if (purpose == DIAMETER) {
        const bounded2_t apart = bounded_step(a, across);
        numbers[0] = rounded(root_of(bounded_dot(apart, apart)), &sure);
        return sure;
    }
    const bounded2_t edge = bounded_step(a, corner_of(p, c.edge + 1));
    const bounded_t square = bounded_dot(edge, edge), side = bounded_cross(edge, bounded_step(a, across));
    const bounded_t height = root_of(over(times(side, side), square));
    if (purpose == WIDTH) {
        numbers[0] = rounded(height, &sure);
        return sure;
    }
    const bounded_t end = bounded_dot(edge, bounded_step(a, corner_of(p, c.along)));
    const bounded_t begin = bounded_dot(edge, bounded_step(a, corner_of(p, c.back)));
    const bounded_t length = minus(end, begin), sides = plus(side, length), around = plus(sides, sides);
    numbers[0] = rounded(over(times(side, length), square), &sure);
    numbers[1] = rounded(root_of(over(times(around, around), square)), &sure);
    numbers[2] = rounded(root_of(over(times(length, length), square)), &sure);
    numbers[3] = rounded(height, &sure);
    const bounded_t x = times(bounded(a.x), square), y = times(bounded(a.y), square);
    for (int k = 0; k < 4; ++k) {
        const bounded_t away = k == 0 || k == 3 ? begin : end;
        bounded_t place_x = plus(x, times(edge.x, away)), place_y = plus(y, times(edge.y, away));
        if (k > 1) {
            place_x = minus(place_x, times(edge.y, side));
            place_y = plus(place_y, times(edge.x, side));
        }
        numbers[4 + 2 * k] = rounded(over(place_x, square), &sure);
        numbers[5 + 2 * k] = rounded(over(place_y, square), &sure);
    }
    return sure;
}
