// batch/batch_circle.h: the least circle around a convex polygon, by one work-item. The includer has batch/batch_calipers.h
// and batch/batch_bounded.h.
//
// A circle is relative to its first corner a: the centre is a + across / below, and a + w is inside if w^2 below <= 2 w across.
// The circle grows by the corner farthest outside, until none is outside for sure. It is the least one if no other corner
// may be on it and an acute triangle or a pair makes it. Otherwise, where coordinates are halves of integers within 2^12 of
// the first, all is decided in integers, with the first of equal pairs or triples; else the host decides.
typedef struct { double2 first, across; double below; } circle_t;
typedef struct { uint i, j, k; } support_t;        // k is UINT_MAX for a pair
#define PAIR UINT_MAX
#define MOST_ROUNDS 64

inline circle_t circle_of(polygon_t p, support_t s)
{
    const double2 a = corner_of(p, s.i), b = corner_of(p, s.j) - a;
    circle_t circle = {a, b, 2};
    if (s.k != PAIR) {
        const double2 c = corner_of(p, s.k) - a;
        const double bb = b.x * b.x + b.y * b.y, cc = c.x * c.x + c.y * c.y;
        circle.across = (double2)(c.y * bb - b.y * cc, b.x * cc - c.x * bb);
        circle.below = 2 * (b.x * c.y - b.y * c.x);
    }
    return circle;
}

// Above 0 outside, with a bound of the error of the circle's terms and of this sum.
inline double outside(circle_t c, double2 q, double *error)
{
    const double2 w = q - c.first;
    const double square = (w.x * w.x + w.y * w.y) * c.below, other = 2 * (w.x * c.across.x + w.y * c.across.y);
    *error = fabs(square) + 2 * (fabs(w.x * c.across.x) + fabs(w.y * c.across.y));
    return square - other;
}

inline double dot_of(double2 a, double2 b)
{
    return a.x * b.x + a.y * b.y;
}

// Whether the triangle is acute for sure.
inline int is_acute(polygon_t p, support_t s)
{
    const double2 a = corner_of(p, s.i), b = corner_of(p, s.j), c = corner_of(p, s.k);
    return dot_interval(b - a, c - a).x > 0 && dot_interval(a - b, c - b).x > 0 && dot_interval(a - c, b - c).x > 0 &&
           cross_interval(b - a, c - a).x > 0;
}

inline support_t ordered(uint a, uint b, uint c)
{
    const uint low = min(a, b), high = max(a, b);
    const support_t s = {min(low, c), max(low, min(high, c)), max(high, c)};
    return s;
}

// The support of the least circle around that of s and corner q outside it; up to rounding.
inline support_t support_with(polygon_t p, support_t s, uint q)
{
    const uint old[3] = {s.i, s.j, s.k};
    const uint count = s.k == PAIR ? 2 : 3;
    double error;
    for (uint m = 0; m < count; ++m) {
        const support_t pair = {min(old[m], q), max(old[m], q), PAIR};
        const circle_t circle = circle_of(p, pair);
        int holds = 1;
        for (uint n = 0; n < count; ++n)
            holds &= n == m || outside(circle, corner_of(p, old[n]), &error) <= 0;
        if (holds)
            return pair;
    }
    for (uint m = 0; m < count; ++m) {             // leave out one of three, none of two
        const support_t all = count == 2 ? ordered(q, old[0], old[1]) : ordered(q, old[m == 0], old[m == 2 ? 1 : 2]);
        const double2 a = corner_of(p, all.i), b = corner_of(p, all.j), c = corner_of(p, all.k);
        const circle_t circle = circle_of(p, all);
        if (dot_of(b - a, c - a) > 0 && dot_of(a - b, c - b) > 0 && dot_of(a - c, b - c) > 0 &&
            (count == 2 || outside(circle, corner_of(p, old[m]), &error) <= 0))
            return all;
    }
    return s;                                      // rounding is in the way: the caller stops
}

// Integers: corners relative to the first corner of the polygon, twice; clears ok[0] unless they are small.
inline long2 lattice_of(polygon_t p, uint i, int *ok)
{
    const double2 a = 2 * corner_of(p, 0), b = 2 * corner_of(p, i), apart = b - a;
    ok[0] &= rint(a.x) == a.x && rint(a.y) == a.y && rint(b.x) == b.x && rint(b.y) == b.y && fabs(a.x) < 0x1p50 &&
             fabs(a.y) < 0x1p50 && fabs(apart.x) < 0x1p13 && fabs(apart.y) < 0x1p13;
    return ok[0] ? (long2)((long)apart.x, (long)apart.y) : (long2)(0, 0);
}

inline long dot_long(long2 a, long2 b)
{
    return a.x * b.x + a.y * b.y;
}

typedef struct { long2 first, across; long below; } circle_long_t;

inline circle_long_t circle_long(polygon_t p, support_t s, int *ok)
{
    const long2 a = lattice_of(p, s.i, ok), b = lattice_of(p, s.j, ok) - a;
    circle_long_t circle = {a, b, 2};
    if (s.k != PAIR) {
        const long2 c = lattice_of(p, s.k, ok) - a;
        circle.across = (long2)(c.y * dot_long(b, b) - b.y * dot_long(c, c), b.x * dot_long(c, c) - c.x * dot_long(b, b));
        circle.below = 2 * (b.x * c.y - b.y * c.x);
    }
    return circle;
}

inline long outside_long(circle_long_t c, long2 q)
{
    const long2 w = q - c.first;
    return dot_long(w, w) * c.below - 2 * dot_long(w, c.across);
}

inline int is_acute_long(long2 a, long2 b, long2 c)
{
    return dot_long(b - a, c - a) > 0 && dot_long(a - b, c - b) > 0 && dot_long(a - c, b - c) > 0;
}

// Replaces a circle's support by the first of equal ones; returns 0 if that is not sure.
static int __attribute__((noinline)) first_support(polygon_t p, support_t *s)
{
    int ok = 1;
    const circle_long_t circle = circle_long(p, *s, &ok);
    for (uint i = 0; i < p.size && ok; ++i)
        ok &= outside_long(circle, lattice_of(p, i, &ok)) <= 0;
    if (!ok || (s->k != PAIR && !is_acute_long(lattice_of(p, s->i, &ok), lattice_of(p, s->j, &ok), lattice_of(p, s->k, &ok))))
        return 0;
    for (int triples = 0; triples < 2; ++triples)
        for (uint i = 0; i < p.size; ++i) {
            const long2 a = lattice_of(p, i, &ok);
            for (uint j = i + 1; j < p.size && outside_long(circle, a) == 0; ++j) {
                const long2 b = lattice_of(p, j, &ok), sum = a + b - 2 * circle.first;
                if (outside_long(circle, b) != 0)
                    continue;
                if (sum.x * circle.below == 2 * circle.across.x && sum.y * circle.below == 2 * circle.across.y) {
                    *s = (support_t){i, j, PAIR};
                    return 1;
                }
                for (uint k = j + 1; k < p.size && triples; ++k) {
                    const long2 c = lattice_of(p, k, &ok);
                    if (outside_long(circle, c) == 0 && is_acute_long(a, b, c)) {
                        *s = ordered(i, j, k);
                        return 1;
                    }
                }
            }
        }
    return 0;
}

// The support of the least circle; returns whether it is sure.
inline int item_circle(polygon_t p, support_t *found)
{
    support_t s = {0, p.size / 2, PAIR};
    for (uint round = 0; round < MOST_ROUNDS; ++round) {
        const circle_t circle = circle_of(p, s);
        double most = 0, error, largest = 0, size = 0;
        uint farthest = PAIR, near = 0;
        for (uint i = 0; i < p.size; ++i) {
            const double beyond = outside(circle, corner_of(p, i), &error);
            largest = fmax(largest, error);
            if (i != s.i && i != s.j && i != s.k && beyond > most) {
                most = beyond;
                farthest = i;
            }
        }
        if (s.k != PAIR) {
            const double2 b = corner_of(p, s.j) - circle.first, c = corner_of(p, s.k) - circle.first;
            const double reach = fmax(fmax(fabs(b.x), fabs(b.y)), fmax(fabs(c.x), fabs(c.y)));
            size = reach * reach * reach * reach;  // of products in the centre; all corners are within 2 reach
        }
        const double margin = 256 * ULP * (largest + 4 * size);
        if (farthest == PAIR || most <= margin) {
            for (uint i = 0; i < p.size; ++i)
                near += i != s.i && i != s.j && i != s.k && outside(circle, corner_of(p, i), &error) > -margin;
            *found = s;
            return (near == 0 && (s.k == PAIR || is_acute(p, s))) || first_support(p, found);
        }
        const support_t next = support_with(p, s, farthest);
        if (next.i == s.i && next.j == s.j && next.k == s.k)
            return 0;
        s = next;
    }
    return 0;
}

// Centre and radius; returns whether they are sure.
inline int circle_numbers(polygon_t p, support_t s, global double *numbers)
{
    int sure = 1;
    const double2 a = corner_of(p, s.i), other = corner_of(p, s.j);
    const bounded2_t b = bounded_step(a, other);
    if (s.k == PAIR) {
        numbers[0] = (a.x + other.x) / 2 + 0.0;    // correctly rounded; no -0.0
        numbers[1] = (a.y + other.y) / 2 + 0.0;
        numbers[2] = rounded(root_of(bounded_dot(b, b)), &sure) / 2;
        return sure;
    }
    const bounded2_t c = bounded_step(a, corner_of(p, s.k));
    const bounded_t bb = bounded_dot(b, b), cc = bounded_dot(c, c), twice = bounded_cross(b, c), below = plus(twice, twice);
    const bounded2_t across = {minus(times(c.y, bb), times(b.y, cc)), minus(times(b.x, cc), times(c.x, bb))};
    numbers[0] = rounded(over(plus(times(bounded(a.x), below), across.x), below), &sure);
    numbers[1] = rounded(over(plus(times(bounded(a.y), below), across.y), below), &sure);
    numbers[2] = rounded(over(root_of(bounded_dot(across, across)), below), &sure);
    return sure;
}
