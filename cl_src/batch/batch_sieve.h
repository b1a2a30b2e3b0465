// batch/batch_sieve.h: which points of a group are certainly strictly inside its hull. The includer has geometry/points.h.
//
// Take the extreme points in eight directions, or any others, as corners of a closed polygon. From a point strictly left of
// every edge of positive length, the direction to the polygon's boundary turns counter-clockwise only, at least once round.
// So the point is strictly inside the hull of the corners, even if these are not the true extremes.
//
// u and v are offsets from an origin in the group, a point or its lower left, each with a relative error of at most
// e = 2^-24 and a little; U and V are the group's width and height. A difference of corners, ex = bu - au, is off by 3 e U
// at most, so the product ex v by 5 e U V, rounding included; so is each of the four products of
// (ex v - ey u) - (ex av - ey au); both differences are rounded by 2 e U V, and the sum of one and the bound below by
// little more: 26 e U V in all, and less than 1.01 times that with terms of higher order. A computed value above 32 e U V
// is therefore positive. Products that underflow, flushed or not, lose less than the rest of that bound if U and V are in
// the range below. Floats suffice for points in double, too: the points that the sieve keeps are tested exactly later.
typedef float filter_t;

// IS_FINITE(v): whether a coordinate is neither NaN nor infinite. FROM(v, o): its offset from the origin o, to the
// precision of filter_t. LOWEST_ORIGIN: offsets from other origins do not fit the type.
#if !defined(CLGEOM_COORD_int)
#define IS_FINITE(v) (((v) - (v)) == 0)
#define FROM(v, o) ((filter_t)((v) - (o)))
#else
#define IS_FINITE(v) 1
#if CLGEOM_FP64
#define FROM(v, o) ((filter_t)((double)(v) - (double)(o)))
#else
#define FROM(v, o) ((filter_t)((uint)(v) - (uint)(o)))
#define LOWEST_ORIGIN
#endif
#endif

#define SIEVE_LOSS 0x1p-19f         // 32 * 2^-24
#define SIEVE_LOW 0x1p-40f
#define SIEVE_HIGH 0x1p60f
#define SIEVE_EDGES 8
#define SIEVE_FROM 8                // with fewer points the sieve costs more than it saves

// A point is inside when ex v - ey u > bound for every edge.
typedef struct { filter_t ex[SIEVE_EDGES], ey[SIEVE_EDGES], bound[SIEVE_EDGES]; } sieve_t;

// The edges of corners given counter-clockwise from the rightmost; 0 where the group is too thin, wide or small.
inline int sieve_edges(sieve_t *sieve, const filter_t *u, const filter_t *v)
{
    const filter_t wide = u[0] - u[4], high = v[2] - v[6], loss = SIEVE_LOSS * wide * high;
    if (!(wide >= SIEVE_LOW && wide <= SIEVE_HIGH && high >= SIEVE_LOW && high <= SIEVE_HIGH))
        return 0;
    for (uint k = 0; k < SIEVE_EDGES; ++k) {
        const uint next = (k + 1) % SIEVE_EDGES;
        const filter_t ex = u[next] - u[k], ey = v[next] - v[k];
        sieve->ex[k] = ex;
        sieve->ey[k] = ey;
        sieve->bound[k] = ex == 0 && ey == 0 ? (filter_t)-1 : (ex * v[k] - ey * u[k]) + loss;
    }
    return 1;
}

// Clears `inside` unless the point at u, v is inside. A macro: the sieve may be in any memory.
#define SIEVE_TEST(inside, sieve, u, v)                      \
    for (uint edge_ = 0; edge_ < SIEVE_EDGES; ++edge_)       \
        inside &= (sieve).ex[edge_] * (v) - (sieve).ey[edge_] * (u) > (sieve).bound[edge_];
