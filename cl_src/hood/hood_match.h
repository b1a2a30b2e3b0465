// hood/hood_match.h: match-and-merge as published, for one pair of hoods. The includer has geometry/orient2d.h,
// KEEP_COLLINEAR, hood/hood.h, and
//
//   HOOD_SPACE          local or global: the address space of hoods
//   slot_t              the type of their entries, which are numbers of points
//   HOOD_POINT(h, k)    the coordinates of point k
//
// P has `a` corners, Q has `b`. The counts replace the padding of the source, which uses remote points. P has d1 samples, d2
// corners apart, and Q has d2 samples, d1 corners apart, with d1 d2 = d, the most corners of a hood. Every phase tries a
// rectangle of (x, y). Each result is found and written by exactly one work-item.

typedef struct {
    HOOD_POINTS points;
    HOOD_SPACE const slot_t *p, *q;              // corners, left-justified
    uint a, b, side, log_d1, log_d2;
    HOOD_SPACE slot_t *bracket, *touch, *low;    // d1, d1 and d2 results of samples
    HOOD_SPACE slot_t *found;                    // first of the d2 candidates for p, then p and q
} pair_t;

enum { LOW = -1, EQUAL = 0, HIGH = 1 };

#define P_CORNER(h, i) HOOD_POINT(h, (h)->p[i])
#define Q_CORNER(h, j) HOOD_POINT(h, (h)->q[j])

// One copy of the predicate in the program, not one for each of the tests below.
__attribute__((noinline)) int match_turn(uint side, point_t a, point_t b, point_t c)
{
    return hood_turn(side, a, b, c);
}

// Whether corner j of Q is left of, at, or right of the corner that the tangent from corner i of P touches.
inline int item_g(const pair_t *h, uint i, uint j)
{
    if (j >= h->b)
        return HIGH;
    const point_t p = P_CORNER(h, i), q = Q_CORNER(h, j);
    if (j + 1 < h->b) {
        const int turn = match_turn(h->side, p, q, Q_CORNER(h, j + 1));
        if (BEYOND_Q(turn))
            return LOW;
    }
    if (j > 0) {
        const int turn = match_turn(h->side, p, Q_CORNER(h, j - 1), q);
        if (!BEYOND_Q(turn))
            return HIGH;
    }
    return EQUAL;
}

// The same with P and Q exchanged: corner i of P, seen from corner j of Q.
inline int item_f(const pair_t *h, uint i, uint j)
{
    if (i >= h->a)
        return HIGH;
    const point_t p = P_CORNER(h, i), q = Q_CORNER(h, j);
    if (i + 1 < h->a) {
        const int turn = match_turn(h->side, p, q, P_CORNER(h, i + 1));
        if (BEYOND_P(turn))
            return LOW;
    }
    if (i > 0) {
        const int turn = match_turn(h->side, P_CORNER(h, i - 1), q, p);
        if (!BEYOND_P(turn))
            return HIGH;
    }
    return EQUAL;
}

// Whether the tangent from corner i of P touches Q at j or later, but before j + step.
inline int item_brackets(const pair_t *h, uint i, uint j, uint step)
{
    return item_g(h, i, j) <= EQUAL && item_g(h, i, j + step) == HIGH;
}

// Q without a first corner that is the last of P again: the lower index counts.
inline void item_skip_equal(pair_t *h)
{
    if (h->a > 0 && h->b > 0) {
        const point_t end = P_CORNER(h, h->a - 1), start = Q_CORNER(h, 0);
        if (end.x == start.x && end.y == start.y) {
            ++h->q;
            --h->b;
        }
    }
}

// The number of samples of a phase, numbered y + x d2, without those beyond the corners.
inline uint item_samples(const pair_t *h, uint phase)
{
    if (h->a == 0 || h->b == 0)
        return 0;
    const uint step = 1u << h->log_d2, columns = phase <= 3 ? h->a : phase == 4 ? h->b : step * step;
    return (columns + step - 1) / step * step;
}

// Sample t of phase 1 to 5. Phases are a barrier apart.
inline void item_match(const pair_t *h, uint phase, uint t)
{
    const uint d1 = 1u << h->log_d1, d2 = 1u << h->log_d2, x = t >> h->log_d2, y = t & (d2 - 1);
    if (phase == 1) {                            // mam1: where among the samples of Q each sample of P finds its tangent
        const uint i = d2 * x, j = d1 * y;
        if (item_brackets(h, i, j, d1))
            h->bracket[x] = j;
    } else if (phase == 2) {                     // mam2: the corner, in that bracket of d1
        const uint i = d2 * x;
        for (uint j = h->bracket[x] + y; j < h->bracket[x] + d1; j += d2)
            if (item_g(h, i, j) == EQUAL)
                h->touch[x] = j;
    } else if (phase == 3) {                     // mam3: between which samples of P the common tangent touches P
        const uint i = d2 * x;
        if (y == 0 && item_f(h, i, h->touch[x]) <= EQUAL &&
            (i + d2 >= h->a || item_f(h, i + d2, h->touch[x + 1]) == HIGH))
            h->found[0] = i;
    } else if (phase == 4) {                     // mam4: each corner y of that bracket finds its bracket of d2 on Q
        const uint i = h->found[0] + y, j = d2 * x;
        if (i < h->a && item_brackets(h, i, j, d2))
            h->low[y] = j;
    } else {                                     // mam5: the one pair whose line is tangent to both
        const uint i = h->found[0] + y, j = i < h->a ? h->low[y] + x : 0;
        if (i < h->a && item_g(h, i, j) == EQUAL && item_f(h, i, j) == EQUAL) {
            h->found[1] = i;
            h->found[2] = j;
        }
    }
}

// mam6: corner k of the merged hood is ..., and how many there are.
inline uint item_keeps(const pair_t *h) { return h->b ? h->found[1] + 1 : h->a; }
inline uint item_shift(const pair_t *h) { return h->b ? h->found[2] : 0; }
inline uint item_size(const pair_t *h) { return item_keeps(h) + h->b - item_shift(h); }
inline slot_t item_merged(const pair_t *h, uint k)
{
    const uint keeps = item_keeps(h);
    return k < keeps ? h->p[k] : h->q[k - keeps + item_shift(h)];
}
