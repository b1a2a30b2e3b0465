// batch/batch_sieve_wide.h: the sieve of batch/batch_sieve.h by one work-item of a CPU, 32 bytes at a time.
#define LANES 8
typedef float8 filter_v;
typedef int8 mask_v;
typedef int mask_t;

#define TAKE(key, at, value, better)                                                               \
    {                                                                                              \
        const filter_v found = (value);                                                            \
        const mask_v is_better = found better key;                                                 \
        key = is_better ? found : key;                                                             \
        at = is_better ? now : at;                                                                 \
    }
// The index of the point with the best key of all lanes.
#define BEST(corner, key, at, better)                                                              \
    {                                                                                              \
        const int8 places8 = at * LANES + (int8)(0, 1, 2, 3, 4, 5, 6, 7);                          \
        const int4 upper4 = key.hi better key.lo;                                                  \
        const float4 key4 = upper4 ? key.hi : key.lo;                                              \
        const int4 places4 = upper4 ? places8.hi : places8.lo;                                     \
        const int2 upper2 = key4.hi better key4.lo;                                                \
        const float2 key2 = upper2 ? key4.hi : key4.lo;                                            \
        const int2 places2 = upper2 ? places4.hi : places4.lo;                                     \
        corner = key2.y better key2.x ? places2.y : places2.x;                                     \
    }

// Indices of the extreme points to the E, NE, N, NW, W, SW, S, SE.
inline void item_extremes(const filter_v *x, const filter_v *y, uint vectors, uint *corner)
{
    {
        filter_v e = x[0], w = x[0], n = y[0], s = y[0];
        mask_v at_e = 0, at_w = 0, at_n = 0, at_s = 0, now = 0;
        for (uint k = 1; k < vectors; ++k) {
            now += 1;
            TAKE(e, at_e, x[k], >)
            TAKE(w, at_w, x[k], <)
            TAKE(n, at_n, y[k], >)
            TAKE(s, at_s, y[k], <)
        }
        BEST(corner[0], e, at_e, >)
        BEST(corner[2], n, at_n, >)
        BEST(corner[4], w, at_w, <)
        BEST(corner[6], s, at_s, <)
    }
    {
        filter_v ne = x[0] + y[0], sw = ne, nw = y[0] - x[0], se = nw;
        mask_v at_ne = 0, at_sw = 0, at_nw = 0, at_se = 0, now = 0;
        for (uint k = 1; k < vectors; ++k) {
            now += 1;
            TAKE(ne, at_ne, x[k] + y[k], >)
            TAKE(sw, at_sw, x[k] + y[k], <)
            TAKE(nw, at_nw, y[k] - x[k], >)
            TAKE(se, at_se, y[k] - x[k], <)
        }
        BEST(corner[1], ne, at_ne, >)
        BEST(corner[3], nw, at_nw, >)
        BEST(corner[5], sw, at_sw, <)
        BEST(corner[7], se, at_se, <)
    }
}

// Indices of the points that are not certainly inside, in order; returns their number. x and y are padded to whole vectors;
// `inside` has as many entries.
inline uint item_sieve(const filter_v *x, const filter_v *y, uint count, mask_v *inside, ushort *left)
{
    const filter_t *x1 = (const filter_t *)x, *y1 = (const filter_t *)y;
    const uint vectors = (count + LANES - 1) / LANES;
    uint corner[SIEVE_EDGES];
    item_extremes(x, y, vectors, corner);
    filter_t u[SIEVE_EDGES], v[SIEVE_EDGES];
    for (uint k = 0; k < SIEVE_EDGES; ++k) {
        u[k] = x1[corner[k]];
        v[k] = y1[corner[k]];
    }
    sieve_t sieve;
    uint kept = 0;
    if (!sieve_edges(&sieve, u, v)) {
        for (uint k = 0; k < count; ++k)
            left[k] = k;
        return count;
    }
    for (uint k = 0; k < vectors; ++k) {
        mask_v in = -1;
        SIEVE_TEST(in, sieve, x[k], y[k])
        inside[k] = in;
    }
    const mask_t *inside1 = (const mask_t *)inside;
    for (uint k = 0; k < count; ++k) {
        left[kept] = k;
        kept += 1 + (int)inside1[k];
    }
    return kept;
}
