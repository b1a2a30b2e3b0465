// arc/arc_cut.h: the first point of a segment, for segments of equally many points. The includer has real_t.

// floor(k n / segments) of the n points from `first` to `last`; `last` for all k from `segments` on.
inline uint arc_nominal(uint first, uint last, uint segments, uint k)
{
    const uint whole = (last - first) / segments, rest = last - first - whole * segments;
    if (k >= segments)
        return last;
    const ulong parts = (ulong)k * rest;                 // 64-bit divisions are slow
    return first + k * whole + (rest == 0 ? 0 : parts >> 32 ? (uint)(parts / segments) : (uint)parts / segments);
}

// The segment of point i of n.
inline uint arc_owner(uint n, uint segments, uint i) { return (uint)((((ulong)i + 1) * segments - 1) / n); }

// The first point of the column of point i, among points from `first` on.
inline uint arc_column(global const real_t *points, uint first, uint i)
{
    uint lo = first, hi = i;
    const real_t x = points[2 * (size_t)hi];
    for (uint step = 1; lo < hi; step *= 2) {        // columns are short: steps to the left that double
        const uint left = hi - lo > step ? hi - step : lo;
        if (points[2 * (size_t)left] != x) {
            lo = left + 1;
            break;
        }
        hi = left;
    }
    while (lo < hi) {
        const uint mid = lo + (hi - lo) / 2;
        if (points[2 * (size_t)mid] == x)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

// The last point of the column of point i, of n points; steps to the right that double.
inline uint arc_column_end(global const real_t *points, uint n, uint i)
{
    uint lo = i, hi = n - 1;
    const real_t x = points[2 * (size_t)lo];
    for (uint step = 1; lo < hi; step *= 2) {
        const uint right = hi - lo > step ? lo + step : hi;
        if (points[2 * (size_t)right] != x) {
            hi = right - 1;
            break;
        }
        lo = right;
    }
    while (lo < hi) {
        const uint mid = hi - (hi - lo) / 2;
        if (points[2 * (size_t)mid] == x)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

// The first point of segment k: that of the column of its first nominal point; `last` for all k from `segments` on.
inline uint arc_cut(global const real_t *points, uint first, uint last, uint segments, uint k)
{
    if (first == last || k >= segments)
        return last;
    return arc_column(points, first, arc_nominal(first, last, segments, k));
}
