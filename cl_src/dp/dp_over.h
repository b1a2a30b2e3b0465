// dp/dp_over.h: the state of a reduction over cells of a table. Included after the macros
//
//   CELL          the type of a cell             FLOATS    1 if it is a float
//   OP            one of the operations below    VALUE     the type of the result
//   CELL_IS_DOUBLE   1 if it is a double
//
// A state starts by over_none(), takes cells by over_take(), and joins another state by over_join(). `at` is the number of
// a cell, by which ties go to the first.
#define OVER_MIN 0
#define OVER_MAX 1
#define OVER_ARGMIN 2
#define OVER_ARGMAX 3
#define OVER_SUM 4
#define OVER_COUNT 5
#define OVER_NOWHERE ULONG_MAX

#if OP == OVER_ARGMIN || OP == OVER_ARGMAX
typedef struct { VALUE value; ulong at; } over_t;
#elif OP == OVER_SUM && FLOATS
// An exact sum, the same in any order: limb k counts multiples of the least positive number times 2^(32 k). A cell adds
// less than 2^33 to each of two or three limbs, so one holds 2^30 cells. The last two limbs count infinities, and NaNs twice.
#if CELL_IS_DOUBLE
#define OVER_LIMBS 69
#else
#define OVER_LIMBS 11
#endif
#define OVER_INFINITIES (OVER_LIMBS - 2)
typedef struct { long limbs[OVER_LIMBS]; } over_t;
#else
typedef struct { VALUE value; } over_t;
#endif

#if OP == OVER_MIN || OP == OVER_ARGMIN
#define OVER_BEATS(x, y) ((x) < (y))
#define OVER_SIGN(x) signbit(x)
#elif OP == OVER_MAX || OP == OVER_ARGMAX
#define OVER_BEATS(x, y) ((x) > (y))
#define OVER_SIGN(x) (!signbit(x))
#endif

// Whether x holds in a comparison with a bound: 0 ==, 1 !=, 2 <, 3 <=, 4 >, 5 >=.
inline bool over_holds(const CELL x, const int comparison, const CELL bound)
{
    switch (comparison) {
    case 0: return x == bound;
    case 1: return x != bound;
    case 2: return x < bound;
    case 3: return x <= bound;
    case 4: return x > bound;
    default: return x >= bound;
    }
}

inline over_t over_none(const VALUE neutral)
{
    over_t state;
#if OP == OVER_SUM && FLOATS
    for (int k = 0; k < OVER_LIMBS; ++k)
        state.limbs[k] = 0;
#else
    state.value = neutral;
#endif
#if OP == OVER_ARGMIN || OP == OVER_ARGMAX
    state.at = OVER_NOWHERE;
#endif
    return state;
}

#if OP == OVER_SUM && FLOATS
// Source: U. Kulisch, Computer Arithmetic and Validity, 2nd ed. (2013), chapter 8: sums of floats in fixed point.
inline void over_add(over_t *state, const CELL x)
{
#if CELL_IS_DOUBLE
    const ulong bits = as_ulong(x), fraction = bits & 0xFFFFFFFFFFFFF;
    const int exponent = (int)(bits >> 52) & 0x7FF, highest = 0x7FF;
    const ulong digits = exponent ? fraction | 0x10000000000000 : fraction;
    const bool negative = bits >> 63;
#else
    const uint bits = as_uint(x), fraction = bits & 0x7FFFFF;
    const int exponent = (int)(bits >> 23) & 0xFF, highest = 0xFF;
    const ulong digits = exponent ? fraction | 0x800000 : fraction;
    const bool negative = bits >> 31;
#endif
    if (exponent == highest) {
        state->limbs[OVER_INFINITIES] += fraction || !negative;
        state->limbs[OVER_INFINITIES + 1] += fraction || negative;
        return;
    }
    const int shift = exponent ? exponent - 1 : 0, limb = shift >> 5;
    const ulong low = (digits & 0xFFFFFFFF) << (shift & 31), high = (digits >> 32) << (shift & 31);
    const long first = (long)(low & 0xFFFFFFFF), second = (long)((low >> 32) + (high & 0xFFFFFFFF));
    state->limbs[limb] += negative ? -first : first;
    state->limbs[limb + 1] += negative ? -second : second;
#if CELL_IS_DOUBLE
    const long third = (long)(high >> 32);
    state->limbs[limb + 2] += negative ? -third : third;
#endif
}
#endif

inline void over_take(over_t *state, const CELL x, const ulong at, const int comparison, const CELL bound)
{
#if OP == OVER_COUNT
    state->value += over_holds(x, comparison, bound);
#elif OP == OVER_SUM && FLOATS
    over_add(state, x);
#elif OP == OVER_SUM
    state->value += (VALUE)x;   // of unsigned integers, which wrap around
#elif OP == OVER_MIN || OP == OVER_MAX
#if FLOATS
    // a NaN stays, and of equal zeros the one that is beyond the other by its sign
    const bool further = OVER_BEATS(x, state->value) || x != x || (x == state->value && OVER_SIGN(x));
    state->value = further && state->value == state->value ? x : state->value;
#else
    state->value = OVER_BEATS(x, state->value) ? x : state->value;
#endif
#else
#if FLOATS
    const bool nan = x != x, held = state->value != state->value;
    const bool better = held ? nan && at < state->at : nan || OVER_BEATS(x, state->value);
    const bool equal = !held && x == state->value;
#else
    const bool better = OVER_BEATS(x, state->value), equal = x == state->value;
#endif
    if (better || (equal && at < state->at)) {
        state->value = x;
        state->at = at;
    }
#endif
}

inline over_t over_join(over_t a, const over_t b)
{
#if OP == OVER_SUM && FLOATS
    for (int k = 0; k < OVER_LIMBS; ++k)
        a.limbs[k] += b.limbs[k];
#elif OP == OVER_SUM || OP == OVER_COUNT
    a.value += b.value;
#elif OP == OVER_MIN || OP == OVER_MAX
    over_take(&a, b.value, 0, 0, 0);
#else
    if (b.at != OVER_NOWHERE) {
        if (a.at == OVER_NOWHERE) a = b;
        else over_take(&a, b.value, b.at, 0, 0);
    }
#endif
    return a;
}

// By all work-items of a group of WG_SIZE: the state of work-item 0 becomes that of all. `cells` is an OVER_LOCAL in local
// memory. A state of many limbs goes limb by limb.
#if OP == OVER_SUM && FLOATS
#define OVER_LOCAL long
#define OVER_GROUP(lid, cells, state)                                    \
    for (int limb = 0; limb < OVER_LIMBS; ++limb) {                      \
        (cells)[lid] = (state).limbs[limb];                              \
        GROUP_REDUCE(lid, other, (cells)[lid] += (cells)[other]);        \
        (state).limbs[limb] = (cells)[0];                                \
        barrier(CLK_LOCAL_MEM_FENCE);                                    \
    }
#else
#define OVER_LOCAL over_t
#define OVER_GROUP(lid, cells, state)                                                  \
    (cells)[lid] = (state);                                                            \
    GROUP_REDUCE(lid, other, (cells)[lid] = over_join((cells)[lid], (cells)[other]));  \
    (state) = (cells)[0];                                                              \
    barrier(CLK_LOCAL_MEM_FENCE)
#endif
