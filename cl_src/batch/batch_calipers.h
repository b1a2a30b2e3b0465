// batch/batch_calipers.h: rotating calipers of one convex polygon by one work-item, for devices that compute in double.
// The includer has portable.h, and coord_t, the type of coordinates. Those other than 0 are from 2^-60 to 2^120: products of
// six differences stay in the range of double.
//
// Signs are exact, or UNSURE. Measures are intervals; two that overlap are compared in integers where coordinates are halves
// of integers within 2^29 of each other. Otherwise the job is unsure, and the host decides.
#define UNSURE 2
#define ULP 0x1p-53

enum { WIDTH, AREA, PERIMETER, DIAMETER, CIRCLE };
typedef struct { global const coord_t *xy; uint size; } polygon_t;
typedef struct { uint edge, across, along, back; double low, high; } caliper_t;

// The number of a corner, which is below twice their number. A remainder would take longer.
inline uint around(polygon_t p, uint i)
{
    return i < p.size ? i : i - p.size;
}

inline double2 corner_of(polygon_t p, uint i)
{
    const uint k = around(p, i);
    return (double2)(p.xy[2 * (size_t)k], p.xy[2 * (size_t)k + 1]);
}

// Whether d is a - b without error: adding d to the smaller of the two shows a lost part.
inline int is_difference(double a, double b, double d)
{
    return d + b == a && a - d == b;
}

// The sign of (a - b)(c - d) - (e - f)(g - h).
inline int sign_of(double a, double b, double c, double d, double e, double f, double g, double h)
{
    const double ab = a - b, cd = c - d, ef = e - f, gh = g - h, left = ab * cd, right = ef * gh, det = left - right;
    if (fabs(det) > 8 * ULP * (fabs(left) + fabs(right)))
        return det > 0 ? 1 : -1;
    if (!(is_difference(a, b, ab) && is_difference(c, d, cd) && is_difference(e, f, ef) && is_difference(g, h, gh)))
        return UNSURE;
    if (left != right)
        return left > right ? 1 : -1;
    const double left_error = fma(ab, cd, -left), right_error = fma(ef, gh, -right);
    return (left_error > right_error) - (left_error < right_error);
}

// The signs of the cross and dot product of the steps a -> b and c -> d.
inline int side_of(double2 a, double2 b, double2 c, double2 d)
{
    return sign_of(b.x, a.x, d.y, c.y, b.y, a.y, d.x, c.x);
}

inline int along_of(double2 a, double2 b, double2 c, double2 d)
{
    return sign_of(b.x, a.x, d.x, c.x, b.y, a.y, c.y, d.y);
}

// An interval of the cross or dot product of two steps.
inline double2 interval_of(double left, double right)
{
    const double value = left + right, error = 8 * ULP * (fabs(left) + fabs(right));
    return (double2)(value - error, value + error);
}

inline double2 cross_interval(double2 p, double2 q)
{
    return interval_of(p.x * q.y, -(p.y * q.x));
}

inline double2 dot_interval(double2 p, double2 q)
{
    return interval_of(p.x * q.x, p.y * q.y);
}

// Sets the interval of a measure, for which less is better.
inline void item_measure(polygon_t p, uint purpose, caliper_t *c)
{
    const double2 a = corner_of(p, c->edge);
    if (purpose == DIAMETER) {
        const double2 apart = corner_of(p, c->across) - a;
        const double found = apart.x * apart.x + apart.y * apart.y;
        c->low = -found * (1 + 16 * ULP);
        c->high = -found * (1 - 16 * ULP);
        return;
    }
    const double2 edge = corner_of(p, c->edge + 1) - a;
    const double2 height = fmax(cross_interval(edge, corner_of(p, c->across) - a), (double2)(0, 0));
    double2 other = height, one = height;
    if (purpose != WIDTH) {
        other = fmax(dot_interval(edge, corner_of(p, c->along) - corner_of(p, c->back)), (double2)(0, 0));
        if (purpose == PERIMETER)
            one = other = one + other;
    }
    const double square = edge.x * edge.x + edge.y * edge.y;
    c->low = one.x * other.x / square * (1 - 32 * ULP);
    c->high = one.y * other.y / square * (1 + 32 * ULP);
}

// Twice the step between corners as integers; clears ok[0] if they are none, or large.
inline long2 integer_step(polygon_t p, uint from, uint to, int *ok)
{
    const double2 a = 2 * corner_of(p, from), b = 2 * corner_of(p, to), step = b - a;
    ok[0] &= rint(a.x) == a.x && rint(a.y) == a.y && rint(b.x) == b.x && rint(b.y) == b.y &&
             fabs(a.x) < 0x1p50 && fabs(a.y) < 0x1p50 && fabs(step.x) < 0x1p30 && fabs(step.y) < 0x1p30;
    return ok[0] ? (long2)((long)step.x, (long)step.y) : (long2)(0, 0);
}

// A measure as integers: one * other / square.
typedef struct { ulong one, other, square; } integers_t;

inline integers_t integers_of(polygon_t p, uint purpose, caliper_t c, int *ok)
{
    const long2 edge = integer_step(p, c.edge, c.edge + 1, ok), up = integer_step(p, c.edge, c.across, ok);
    integers_t found = {0, 1, 1};
    if (purpose == DIAMETER) {
        found.one = up.x * up.x + up.y * up.y;
        return found;
    }
    const long2 flat = integer_step(p, c.back, c.along, ok);
    const ulong height = edge.x * up.y - edge.y * up.x, length = edge.x * flat.x + edge.y * flat.y;
    found.one = purpose == PERIMETER ? height + length : height;
    found.other = purpose == WIDTH ? height : purpose == AREA ? length : height + length;
    found.square = edge.x * edge.x + edge.y * edge.y;
    return found;
}

// a b c as three words, the highest first.
inline ulong3 product_of_three(ulong a, ulong b, ulong c)
{
    const ulong low = a * b, high = mul_hi(a, b), middle = mul_hi(low, c), more = high * c, sum = middle + more;
    return (ulong3)(mul_hi(high, c) + (sum < middle), sum, low * c);
}

// The sign of the difference of the measures of a and b, where less is better; or UNSURE.
static int __attribute__((noinline)) compare_integers(polygon_t p, uint purpose, caliper_t a, caliper_t b)
{
    int ok = 1;
    const integers_t of_a = integers_of(p, purpose, a, &ok), of_b = integers_of(p, purpose, b, &ok);
    const ulong3 left = product_of_three(of_a.one, of_a.other, of_b.square);
    const ulong3 right = product_of_three(of_b.one, of_b.other, of_a.square);
    if (!ok)
        return UNSURE;
    const int sign = left.x != right.x   ? (left.x > right.x ? 1 : -1)
                     : left.y != right.y ? (left.y > right.y ? 1 : -1)
                                         : (left.z > right.z) - (left.z < right.z);
    return purpose == DIAMETER ? -sign : sign;
}

// Of equal distances: whether the corners of a are before those of b.
inline int pair_before(caliper_t a, caliper_t b)
{
    const uint low = min(a.edge, a.across), other = min(b.edge, b.across);
    return low != other ? low < other : max(a.edge, a.across) < max(b.edge, b.across);
}

// Whether two rectangles have the area of the same triangle, twice: of an edge and the corner farthest from it, where no
// other corner is farther along the edge or back.
inline int has_corner(caliper_t c, uint i, uint size)
{
    return i == c.edge || i == (c.edge + 1) % size || i == c.across;
}

inline int of_one_triangle(caliper_t a, caliper_t b, uint size)
{
    return a.back == a.edge && b.back == b.edge && a.along == (a.edge + 1) % size && b.along == (b.edge + 1) % size &&
           has_corner(b, a.edge, size) && has_corner(b, a.along, size) && has_corner(b, a.across, size);
}

// The first step after `from` and before `end` whose quarter turn from the edge a -> b is above q; UINT_MAX if unsure. Steps
// turn left, and their quarters never descend.
inline uint first_beyond(polygon_t p, double2 a, double2 b, uint from, uint end, int q)
{
    while (from < end) {
        const uint middle = from + (end - from) / 2;
        const double2 c = corner_of(p, middle), d = corner_of(p, middle + 1);
        const int side = side_of(a, b, c, d), along = along_of(a, b, c, d);
        if (side == UNSURE || along == UNSURE)
            return UINT_MAX;
        const int quarter = side == 0 ? (along > 0 ? 0 : 2) : side > 0 ? along <= 0 : along < 0 ? 2 : 3;
        if (quarter <= q)
            from = middle + 1;
        else
            end = middle;
    }
    return from;
}

// The best caliper of the edges first <= i < end. Returns whether that is sure; otherwise its `low` is a lower bound of all.
inline int item_calipers(polygon_t p, uint purpose, uint first, uint end, caliper_t *best)
{
    const int wide = purpose == AREA || purpose == PERIMETER;
    const caliper_t none = {first, first, first, first, INFINITY, INFINITY}, unknown = {0, 0, 0, 0, -INFINITY, INFINITY};
    uint along = 0, across = 0, back = 0;
    int sure = 1;
    double2 before = corner_of(p, first > 0 ? first - 1 : p.size - 1), a = corner_of(p, first);
    double lowest = INFINITY;
    *best = none;
    if (p.size == 2) {
        best->along = 1;
        best->across = purpose == DIAMETER;
        return 1;
    }
    for (uint i = first; i < end; ++i) {
        const double2 b = corner_of(p, i + 1);
        const double2 last = before, start = a;
        const int turn = side_of(last, start, start, b);
        before = a;
        a = b;
        if (turn == UNSURE || (turn == 0 && along_of(last, start, start, b) == UNSURE)) {
            *best = unknown;
            return 0;
        }
        if (turn == 0 && along_of(last, start, start, b) > 0)
            continue;                              // the edge goes on
        const uint round = i + p.size;
        if (across == 0 && i > 0) {                // the first edge of the job
            along = wide ? first_beyond(p, start, b, i + 1, round, 0) : 0;
            across = first_beyond(p, start, b, i + 1, round, 1);
            back = wide ? first_beyond(p, start, b, i + 1, round, 2) : 0;
            if (along == UINT_MAX || across == UINT_MAX || back == UINT_MAX) {
                *best = unknown;
                return 0;
            }
        }
        int sign = 0;
        if (wide) {
            along = max(along, i + 1);
            while (along < round && (sign = along_of(start, b, corner_of(p, along), corner_of(p, along + 1))) == 1)
                ++along;
            if (sign == UNSURE) {
                *best = unknown;
                return 0;
            }
        }
        across = max(across, max(along, i + 1));
        while (across < round && (sign = side_of(start, b, corner_of(p, across), corner_of(p, across + 1))) != -1) {
            if (sign == 0 && along_of(start, b, corner_of(p, across), corner_of(p, across + 1)) != 1)
                break;
            if (sign == UNSURE) {
                *best = unknown;
                return 0;
            }
            ++across;
        }
        if (wide) {
            back = max(back, across);
            sign = 0;
            while (back < round && (sign = along_of(start, b, corner_of(p, back), corner_of(p, back + 1))) <= 0)
                ++back;
            if (sign == UNSURE) {
                *best = unknown;
                return 0;
            }
        }
        caliper_t next = {i, around(p, across), around(p, along), around(p, back), 0, 0};
        item_measure(p, purpose, &next);
        lowest = fmin(lowest, next.low);
        if (next.low > best->high || (purpose == DIAMETER && next.edge == best->across && next.across == best->edge) ||
            (purpose == AREA && of_one_triangle(next, *best, p.size)))
            continue;
        int order = -1;
        if (!(next.high < best->low))
            order = compare_integers(p, purpose, next, *best);
        sure &= order != UNSURE;
        if (order == -1 || (order == 0 && purpose == DIAMETER && pair_before(next, *best)) ||
            (order == UNSURE && next.high < best->high))
            *best = next;
    }
    best->low = lowest;
    if (purpose != DIAMETER && best->high < INFINITY && best->edge + 1 < p.size) {  // corner 0 may end an edge that is farthest, too
        const double2 from = corner_of(p, best->edge), to = corner_of(p, best->edge + 1);
        const double2 last = corner_of(p, p.size - 1), zero = corner_of(p, 0);
        const int level = side_of(from, to, last, zero);
        best->across = level == 0 && along_of(from, to, last, zero) < 0 ? 0 : best->across;
        sure &= level != UNSURE;
    }
    return sure;
}
