// arc_cut.h: where a segment begins by count. The includer has real_t.

// The beginning of the column of point floor(k n / segments), of the n points from `first` to `last`; `last` for all others.
inline uint arc_cut(global const real_t *points, uint first, uint last, uint segments, uint k)
{
    if (first == last || k >= segments)
        return last;
    const uint whole = (last - first) / segments, rest = last - first - whole * segments;
    uint lo = first, hi = first + k * whole;
    if (rest)                                        // divisions of 64 bits are slow
        hi += (uint)((ulong)k * rest / segments);
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
