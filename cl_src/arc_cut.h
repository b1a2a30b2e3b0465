// arc_cut.h: where a segment begins by count. The includer has real_t.

// floor(k n / segments) of the n points from `first` to `last`; `last` for all k from `segments` on.
inline uint arc_nominal(uint first, uint last, uint segments, uint k)
{
    const uint whole = (last - first) / segments, rest = last - first - whole * segments;
    if (k >= segments)
        return last;
    return first + k * whole + (rest ? (uint)((ulong)k * rest / segments) : 0);      // divisions of 64 bits are slow
}

// The beginning of this point's column; `last` for all k from `segments` on.
inline uint arc_cut(global const real_t *points, uint first, uint last, uint segments, uint k)
{
    if (first == last || k >= segments)
        return last;
    uint lo = first, hi = arc_nominal(first, last, segments, k);
    const real_t x = points[2 * (size_t)hi];
    for (uint step = 1; lo < hi; step *= 2) {        // columns are short: ever longer steps to the left
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
