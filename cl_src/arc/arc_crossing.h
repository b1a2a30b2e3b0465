// arc/arc_crossing.h: the crossing of two tangents, rounded outward. The includer has geometry/orient2d.h, real_t, point_t.
//
// A reflex vertex: the tangent a -> b touches the segment at b, the tangent c -> d at c, and c is left of b. They cross at
// an x between c and b, where the outline turns. The reflex vertex has
//
//   x   close to the crossing, by additions, multiplications and fma only, which round equally on every device,
//   y   the least value of the coordinates' type that is on or above both lines at this x (the greatest that is on or
//       below them on a lower side), by exact tests.
//
// So the outline through it is on or beyond both tangents between a and d. If b or c is on both tangents, the vertex is
// that point.

#if defined(CLGEOM_COORD_double)
typedef double approx_t;
#define ARC_LARGE 0x1p+900
#else
typedef float approx_t;
#define ARC_LARGE 0x1p+100f
#endif

// Integers in the order of the values of the type; negated on a lower side.
#if defined(CLGEOM_COORD_int)
inline long key_of(real_t v, uint side) { return side ? (long)v : ~(long)v; }
inline real_t value_of(long key, uint side) { return (real_t)(side ? key : ~key); }
#elif defined(CLGEOM_COORD_double)
inline long key_of(real_t v, uint side)
{
    const long bits = as_long(v), key = bits ^ (bits >> 63 & 0x7fffffffffffffffL);
    return side ? key : ~key;
}
inline real_t value_of(long key, uint side)
{
    const long k = side ? key : ~key;
    return as_double(k ^ (k >> 63 & 0x7fffffffffffffffL));
}
#else
inline long key_of(real_t v, uint side)
{
    const int bits = as_int(v), key = bits ^ (bits >> 31 & 0x7fffffff);
    return side ? key : ~key;
}
inline real_t value_of(long key, uint side)
{
    const int k = (int)(side ? key : ~key);
    return as_float(k ^ (k >> 31 & 0x7fffffff));
}
#endif

inline int arc_is_above(uint side, point_t a, point_t b, real_t x, long key)
{
    const int turn = orient2d(a.x, a.y, b.x, b.y, x, value_of(key, side));
    return side ? turn >= 0 : turn <= 0;
}

#if FILTERED && CLGEOM_FP64 && CLGEOM_DENORMALS && !defined(CLGEOM_COORD_double)
#define ARC_CERTAIN 1
// The least key whose value is not below v.
inline long arc_key_above(double v, uint side)
{
#if defined(CLGEOM_COORD_int)
    return key_of(convert_int_sat(side ? ceil(v) : floor(v)), side);
#else
    const long key = key_of((float)v, side);
    const double value = value_of(key, side);
    return key + (side ? value < v : value > v);
#endif
}

// The height of the line a -> b at x, with an error below 2^-49 (|a.y| + |b.y|).
inline double arc_height(point_t a, point_t b, real_t x)
{
    return a.y + ((double)b.y - a.y) * (((double)x - a.x) / ((double)b.x - a.x));
}
#else
#define ARC_CERTAIN 0
#endif

// The least key whose value is on or above the line a -> b at x, which is between a and b. The guess saves tests; the
// result does not depend on it.
inline long arc_above(uint side, point_t a, point_t b, real_t x)
{
#if ARC_CERTAIN
    // The error of double seldom contains a value of the type.
    const double height = arc_height(a, b, x), loss = 0x1p-44 * (fabs((double)a.y) + fabs((double)b.y));
    const long from_below = arc_key_above(height - loss, side), from_above = arc_key_above(height + loss, side);
    if (from_below == from_above)
        return from_below;
#endif
    const long ka = key_of(a.y, side), kb = key_of(b.y, side);
    long lo = min(ka, kb), hi = max(ka, kb);
    if (x == a.x)
        return ka;
    if (x == b.x)
        return kb;
    const approx_t share = ((approx_t)x - (approx_t)a.x) / ((approx_t)b.x - (approx_t)a.x);
    const approx_t near = (approx_t)a.y + share * ((approx_t)b.y - (approx_t)a.y);
    long key = lo;
    if (fabs(near) < ARC_LARGE) {
#if defined(CLGEOM_COORD_int)
        key = key_of(convert_int_sat(near), side);
#else
        key = key_of(near, side);
#endif
        key = min(max(key, lo), hi);
    }
    ulong step = 1;
    if (key == hi || arc_is_above(side, a, b, x, key)) {
        hi = key;
        while (lo < hi) {
            const long below = (ulong)hi - (ulong)lo > step ? hi - (long)step : lo;
            if (!arc_is_above(side, a, b, x, below)) {
                lo = below + 1;
                break;
            }
            hi = below;
            step *= 2;
        }
    } else {
        lo = key + 1;
        while ((ulong)hi - (ulong)lo > step) {
            const long above = lo + (long)step;
            if (arc_is_above(side, a, b, x, above)) {
                hi = above;
                break;
            }
            lo = above + 1;
            step *= 2;
        }
    }
    while (lo < hi) {
        const long mid = (lo & hi) + ((lo ^ hi) >> 1);
        if (arc_is_above(side, a, b, x, mid))
            hi = mid;
        else
            lo = mid + 1;
    }
    return hi;
}

#if ARC_CERTAIN && defined(CLGEOM_COORD_float)
// The least key whose value is on or above both lines at x. Returns whether double decides it: seldom is a value within
// the error bound, and then it is mostly on the line, where neighbours are few units apart.
inline int arc_above_both(uint side, point_t a, point_t b, point_t c, point_t d, real_t x, long *key)
{
    const double ab = arc_height(a, b, x), cd = arc_height(c, d, x), height = (ab > cd) == side ? ab : cd;
    const double loss = 0x1p-44 * (fabs((double)a.y) + fabs((double)b.y) + fabs((double)c.y) + fabs((double)d.y));
    const long one = arc_key_above(height - loss, side), other = arc_key_above(height + loss, side);
    *key = max(one, other);
    if (one == other)
        return 1;
    const double between = value_of(*key - 1, side);
    const int turn_ab = orient2d_of_differences(a.x, a.y, b.x, b.y, x, between);
    const int turn_cd = orient2d_of_differences(c.x, c.y, d.x, d.y, x, between);
    if (side ? turn_ab >= 0 && turn_cd >= 0 : turn_ab <= 0 && turn_cd <= 0)
        --*key;
    return (one - other == 1 || other - one == 1) && turn_ab != 2 && turn_cd != 2;
}
#endif

// n / d for 0 <= n <= d, equal on every device: OpenCL allows float division an error of 2.5 ulp.
inline approx_t arc_ratio(approx_t n, approx_t d)
{
#if defined(CLGEOM_COORD_double)
    return n / d;
#else
    float r = as_float(0x7ef311c7u - as_uint(d));
    for (int k = 0; k < 4; ++k)
        r = fma(r, fma(-d, r, 1.0f), r);
    const float q = n * r;
    return fma(fma(-d, q, n), r, q);
#endif
}

// Factor that brings the largest of four numbers near 1, exactly.
inline approx_t arc_scale(approx_t a, approx_t b, approx_t c, approx_t d)
{
    const approx_t most = fmax(fmax(fabs(a), fabs(b)), fmax(fabs(c), fabs(d)));
#if defined(CLGEOM_COORD_double)
    return as_double((ulong)max(2045 - (int)(as_ulong(most) >> 52), 1) << 52);
#else
    return as_float((uint)max(253 - (int)(as_uint(most) >> 23), 1) << 23);
#endif
}

// Position of the crossing between c (0) and b (1).
inline approx_t arc_share(point_t a, point_t b, point_t c, point_t d)
{
#if defined(CLGEOM_COORD_int)
#define ARC_DIFFERENCE(p, q, axis) (approx_t)((long)(p).axis - (q).axis)
#else
    const approx_t sx = arc_scale(a.x, b.x, c.x, d.x), sy = arc_scale(a.y, b.y, c.y, d.y);
    a = (point_t)(a.x * sx, a.y * sy);
    b = (point_t)(b.x * sx, b.y * sy);
    c = (point_t)(c.x * sx, c.y * sy);
    d = (point_t)(d.x * sx, d.y * sy);
#define ARC_DIFFERENCE(p, q, axis) ((p).axis - (q).axis)
#endif
    const approx_t abx = ARC_DIFFERENCE(b, a, x), cdx = ARC_DIFFERENCE(d, c, x);
    const approx_t c_below = ARC_DIFFERENCE(b, a, y) * ARC_DIFFERENCE(c, a, x) - ARC_DIFFERENCE(c, a, y) * abx;
    const approx_t b_below = ARC_DIFFERENCE(d, c, y) * ARC_DIFFERENCE(b, c, x) - ARC_DIFFERENCE(b, c, y) * cdx;
    const approx_t at_c = fabs(c_below) * cdx, at_b = fabs(b_below) * abx;   // depths times abx cdx
    return at_c + at_b > 1 / ARC_LARGE ? arc_ratio(at_c, at_c + at_b) : 0;
}

#if !defined(CLGEOM_COORD_int)
inline real_t arc_crossing_x(point_t a, point_t b, point_t c, point_t d)
{
    const approx_t share = arc_share(a, b, c, d);
    const real_t width = b.x - c.x;
    const real_t x = width < INFINITY ? c.x + share * width : (1 - share) * c.x + share * b.x;
    return fmin(fmax(x, c.x), b.x);
}
#endif

inline point_t arc_crossing(uint side, point_t a, point_t b, point_t c, point_t d)
{
    if (orient2d(c.x, c.y, d.x, d.y, b.x, b.y) == 0)
        return b;
    if (orient2d(a.x, a.y, b.x, b.y, c.x, c.y) == 0)
        return c;
    long key;
#if defined(CLGEOM_COORD_int)
    const approx_t share = arc_share(a, b, c, d);
    real_t x;
    // The formula has 24 bits. Where the heights of the lines differ at its x, a secant step improves it.
    const approx_t width = (approx_t)((long)b.x - c.x);
    long at = (long)c.x + convert_long(share * width);
    long best = LONG_MAX;
    x = c.x;
    for (int round = 0; round < 3; ++round) {
        const real_t here = (real_t)min(max(at, (long)c.x), (long)b.x);
        const long first = arc_above(side, a, b, here), second = arc_above(side, c, d, here);
        if (max(first, second) < best) {
            best = max(first, second);
            x = here;
        }
        if (first - second <= 1 && second - first <= 1)
            break;
        const long at_c = arc_above(side, a, b, c.x) - key_of(c.y, side);
        const long at_b = arc_above(side, c, d, b.x) - key_of(b.y, side);
        const approx_t apart = (approx_t)(first - second), depth = (approx_t)(at_c + at_b);
        const approx_t part = fmin(arc_ratio(fabs(apart), fmax(depth, fabs(apart))), 1.0f);
        at = here + (apart > 0 ? 1 : -1) * convert_long(part * width);
    }
    key = best;
#else
    const real_t x = arc_crossing_x(a, b, c, d);
#if ARC_CERTAIN
    if (arc_above_both(side, a, b, c, d, x, &key))
        return (point_t)(x, value_of(key, side));
#endif
    key = arc_above(side, a, b, x);
    if (!arc_is_above(side, c, d, x, key))
        key = arc_above(side, c, d, x);
#endif
    return (point_t)(x, value_of(key, side));
}
