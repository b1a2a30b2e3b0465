// dp/dp_split.h: the best of several sums; of equal ones that of the lowest k. The includer has cell_t, sum_t (the type of sums), SPLIT_TRACK
// (whether k is kept), SPLIT_NAN (cells may be NaN), SPLIT_BETTER(a, b), SPLIT_TURNED and, unless SPLIT_BARE,
// dp_split_term.

// Kernels see the table of pattern SONE; that of NESO is its mirror image, with rows for columns.
#if SPLIT_TURNED
#define SPLIT_CELL(i, j) (j), (i)
#define SPLIT_SHAPE m, n
#else
#define SPLIT_CELL(i, j) (i), (j)
#define SPLIT_SHAPE n, m
#endif

#include "dp/dp_overflow.h"
#if DP_TRAPS
#define SPLIT_NOTE_OVER(over, i, j) if (over) SPLIT_NOTE(i, j)
#if SPLIT_TURNED
#define SPLIT_NOTE(i, j) dp_note_overflow(j, i, m, n, dp_overflow)
#else
#define SPLIT_NOTE(i, j) dp_note_overflow(i, j, n, m, dp_overflow)
#endif
#else
#define SPLIT_NOTE_OVER(over, i, j)
#endif

// Takes candidate v of k, in the order of k. The first candidate that equals the initial value sets k. Without NaN that is
// the first of all, so k is initialised to SPLIT_FIRST, and no other test is needed.
#define SPLIT_FIRST(k) (SPLIT_NAN ? -1 : (k))
#if SPLIT_TRACK && SPLIT_NAN
#define SPLIT_TAKE(v, k, best, at) do { \
        const sum_t dp_v = (v); \
        const bool dp_better = SPLIT_BETTER(dp_v, best) | (((at) < 0) & (dp_v == (best))); \
        (best) = dp_better ? dp_v : (best); \
        (at) = dp_better ? (k) : (at); \
    } while (0)
#elif SPLIT_TRACK
#define SPLIT_TAKE(v, k, best, at) do { \
        const sum_t dp_v = (v); \
        const bool dp_better = SPLIT_BETTER(dp_v, best); \
        (best) = dp_better ? dp_v : (best); \
        (at) = dp_better ? (k) : (at); \
    } while (0)
#else
#define SPLIT_TAKE(v, k, best, at) do { \
        const sum_t dp_v = (v); \
        (best) = SPLIT_BETTER(dp_v, best) ? dp_v : (best); \
    } while (0)
#endif

// The same for candidates in any order.
#if SPLIT_TRACK
#define SPLIT_JOIN(v, k, best, at) do { \
        const bool dp_better = ((k) >= 0) & (SPLIT_BETTER(v, best) | (((v) == (best)) & (((at) < 0) | ((k) < (at))))); \
        (best) = dp_better ? (v) : (best); \
        (at) = dp_better ? (k) : (at); \
    } while (0)
#else
#define SPLIT_JOIN(v, k, best, at) (best) = SPLIT_BETTER(v, best) ? (v) : (best)
#endif

#ifndef DP_SUM              // of cells: integers wrap around
#define DP_SUM(a, b) ((a) + (b))
#endif
#if SPLIT_BARE
#define SPLIT_SUM(i, j, k, a, b) DP_SUM(a, b)
#else
#define SPLIT_SUM(i, j, k, a, b) DP_SUM(DP_SUM(a, b), dp_split_term(SPLIT_CELL(i, j), k, SPLIT_SHAPE DP_ARGUMENTS))
#endif
