// batch/batch_octagon.h: the sieve of batch/batch_sieve.h by a work-group, and the list of the points that it keeps. The
// includer has geometry/points.h, batch/batch_sieve.h, WG_SIZE, and STEP, the points that a group processes at a time.

// Loads the points of a step for this work-item, the last one again beyond the end. All loads are issued before the first
// result is used.
#define LOAD_STEP(taken, xy, from, end, lid)                                                            \
    point_t taken[STEP / WG_SIZE];                                                                 \
    for (uint step = 0; step < STEP / WG_SIZE; ++step)                                             \
        taken[step] = CLGEOM_POINT(xy, min((from) + step * WG_SIZE + (lid), (end) - 1));

#define TAKE(c, value)                                                                             \
    {                                                                                              \
        const filter_t found = (value);                                                            \
        at[c] = found > key[c] ? k : at[c];                                                        \
        key[c] = found > key[c] ? found : key[c];                                                  \
    }

// The extreme points of this work-item to the E, NE, N, NW, W, SW, S, SE: projections and indices. Returns whether a
// coordinate is NaN or infinite.
inline int item_extremes(global const real_t *xy, uint count, point_t origin, uint lid, filter_t *key, uint *at)
{
    int nonfinite = 0;
    for (uint c = 0; c < SIEVE_EDGES; ++c) {
        key[c] = -INFINITY;
        at[c] = 0;
    }
    for (uint from = 0; from < count; from += STEP) {
        LOAD_STEP(taken, xy, from, count, lid)
        for (uint step = 0; step < STEP / WG_SIZE; ++step) {
            const point_t p = taken[step];
            const uint k = min(from + step * WG_SIZE + lid, count - 1);
            nonfinite |= !IS_FINITE(p.x) | !IS_FINITE(p.y);
            const filter_t u = FROM(p.x, origin.x), v = FROM(p.y, origin.y);
            TAKE(0, u)
            TAKE(1, u + v)
            TAKE(2, v)
            TAKE(3, v - u)
            TAKE(4, -u)
            TAKE(5, -u - v)
            TAKE(6, -v)
            TAKE(7, u - v)
        }
    }
    return nonfinite;
}

// In each direction the farther of the points of this work-item and of the other one.
inline void take_farther(local filter_t *keys, local uint *indices, uint mine, uint other)
{
    for (uint c = 0; c < SIEVE_EDGES * WG_SIZE; c += WG_SIZE)
        if (keys[c + other] > keys[c + mine]) {
            keys[c + mine] = keys[c + other];
            indices[c + mine] = indices[c + other];
        }
}

// The sieve of the extreme points of all work-items; returns whether there is one.
inline int item_octagon(global const real_t *xy, point_t origin, local const uint *indices, local sieve_t *sieve)
{
    filter_t u[SIEVE_EDGES], v[SIEVE_EDGES];
    for (uint c = 0; c < SIEVE_EDGES; ++c) {
        const point_t p = CLGEOM_POINT(xy, indices[c * WG_SIZE]);
        u[c] = FROM(p.x, origin.x);
        v[c] = FROM(p.y, origin.y);
    }
    sieve_t found;
    const int is_sieved = sieve_edges(&found, u, v);
    *sieve = found;
    return is_sieved;
}

typedef struct { local real_t *x, *y; local ushort *number; local uint *held; } list_t;

// Appends the points that the sieve keeps, of STEP points from `from` on, in any order. They are sorted later.
inline void append_step(const list_t list, global const real_t *xy, uint from, uint count, point_t origin, int is_sieved,
                        local const sieve_t *sieve, uint lid)
{
    LOAD_STEP(taken, xy, from, count, lid)
    for (uint step = 0; step < STEP / WG_SIZE; ++step) {
        const point_t p = taken[step];
        const uint k = from + step * WG_SIZE + lid;
        const filter_t u = FROM(p.x, origin.x), v = FROM(p.y, origin.y);
        int inside = is_sieved;
        SIEVE_TEST(inside, *sieve, u, v)
        if (k < count && !inside) {
            const uint index = atomic_inc(list.held);
            list.x[index] = p.x;
            list.y[index] = p.y;
            list.number[index] = k;
        }
    }
}
