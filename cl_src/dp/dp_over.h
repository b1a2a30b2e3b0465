// dp/dp_over.h: the state of a reduction over cells of a table. Included after the macros
//
//   CELL          the type of a cell             FLOATS    1 if it is a float
//   OP            one of the operations below    VALUE     the type of the result
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
typedef struct { VALUE value; VALUE rest; } over_t;   // of a sum, and what it has lost by rounding
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
    state.value = neutral;
#if OP == OVER_ARGMIN || OP == OVER_ARGMAX
    state.at = OVER_NOWHERE;
#elif OP == OVER_SUM && FLOATS
    state.rest = 0;
#endif
    return state;
}

#if OP == OVER_SUM && FLOATS
// The sum of two floats, and its error exactly: Knuth, The Art of Computer Programming 2, 4.2.2, Theorem B.
inline void over_add(over_t *state, const VALUE x)
{
    const VALUE sum = state->value + x, part = sum - state->value;
    state->rest += (state->value - (sum - part)) + (x - part);
    state->value = sum;
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
    over_add(&a, b.value);
    a.rest += b.rest;
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
