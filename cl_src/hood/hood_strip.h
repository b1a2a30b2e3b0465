// hood/hood_strip.h: the hood of a long strip of sorted points by one work-item. The includer has geometry/orient2d.h,
// KEEP_COLLINEAR and hood/hood.h.
//
// Andrew's monotone chain, with a sieve before it: of every tile it drops the points that are certainly above the line from
// a low point near the tile's beginning to one near its end (below it for an upper hood). These lie between both, so they
// cannot be on the hood. The sieve has no branches and is vectorised. The chain of the points that it keeps seldom pops,
// while a plain chain mispredicts every other branch. 1e6 points on a circle on PoCL: 0.40 of the processor time in double,
// 0.53 in float.

#include "hood/chain.h"

#if defined(CLGEOM_COORD_float)
#define CLGEOM_SIEVE (FILTERED && CLGEOM_DENORMALS)
#define CLGEOM_BOUND(sum) (CLGEOM_THETA_float * fabs(sum) + 4 * FLT_MIN)
typedef float sieve_t;
#else                        // differences of int are exact in double
#define CLGEOM_SIEVE (FILTERED && CLGEOM_FP64)
#define CLGEOM_BOUND(sum) (3.3306690621773722e-16 * fabs(sum) + 4 * DBL_MIN)      // as in geometry/orient2d.h
#if CLGEOM_SIEVE
typedef double sieve_t;
#endif
#endif
#define CLGEOM_TILE 128
#define CLGEOM_ENDS 8        // points at either end of a tile from which the low one is chosen

// Writes the indices in `points` of the hood's corners to `corners`, from its start; returns their number.
inline uint item_strip(global const real_t *points, uint begin, uint count, uint side, global uint *corners)
{
    stack_t stack = {0, 0, 0};
#define STRIP_CORNER(k) ((point_t)(points[2 * (size_t)corners[k]], points[2 * (size_t)corners[k] + 1]))
    uchar out[CLGEOM_TILE], left[CLGEOM_TILE]; // whether a point is dropped; numbers of the others
    for (uint tile = 0; tile < count; tile += CLGEOM_TILE) {
        global const real_t *xy = points + 2 * (size_t)(begin + tile);
        const uint length = min((uint)CLGEOM_TILE, count - tile);
        uint first = 0, last = length - 1, kept = 0;
        for (uint k = 0; k < length; ++k)
            out[k] = 0;
#if CLGEOM_SIEVE
        if (length >= 4 * CLGEOM_ENDS) {
            const sieve_t up = side ? -1 : 1;
            for (uint k = 1; k < CLGEOM_ENDS; ++k) {
                first = up * xy[2 * k + 1] < up * xy[2 * first + 1] ? k : first;
                last = up * xy[2 * (length - 1 - k) + 1] < up * xy[2 * last + 1] ? length - 1 - k : last;
            }
            const sieve_t ax = xy[2 * first], ay = xy[2 * first + 1], bx = xy[2 * last], by = xy[2 * last + 1];
            for (uint k = 0; k < length; ++k) {
                const sieve_t x = xy[2 * k], y = xy[2 * k + 1], l = (ax - x) * (by - y), r = (ay - y) * (bx - x);
                out[k] = up * (l - r) > CLGEOM_BOUND(l + r);
            }
        }
#endif
        for (uint k = 0; k < length; ++k) {
            left[kept] = k;
            kept += (k <= first) | (k >= last) | !out[k];
        }
        for (uint i = 0; i < kept; ++i) {
            const uint k = left[i];
            const point_t p = (point_t)(xy[2 * k], xy[2 * k + 1]);
            if (chain_has(&stack, p))
                continue;
            CHAIN_TRIM(stack, side, p, STRIP_CORNER)
            corners[stack.size] = begin + tile + k;
            chain_push(&stack, p);
        }
    }
    return stack.size;
}
