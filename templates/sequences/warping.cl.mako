<%page args="type='float', absolute=False, dims=1, grid=True, windowed=False, open_begin=False, open_end=False, variant='group', wg_size=64, items_per_thread=1"/>\
<%
    # vectors of 32 bytes: wider ones are passed to PoCL's library in registers that it may not expect
    lanes = min(items_per_thread, 4 if type == "double" else 8) if variant == "serial" else 1
    vector = type if lanes == 1 else f"{type}{lanes}"
    whole = "int" if lanes == 1 else f"int{lanes}"
%>\
// warping: the costs of dynamic time warping of many pairs of series.
//
//   cell (i, j) = cost(i, j) + min(cell (i-1, j-1), cell (i-1, j), cell (i, j-1))
//
//   a block of WIDTH pairs, one a lane     row i of a series a     x . . . .   strips of ROWS rows: a column of a strip is
//   columns of their series b, step by     (of a block, or of      x . . . .   in registers, the row above in `carries`,
//   step: values[(start + j) * DIMS + d]   one a for all: grid)    ---------   [group][j][lane]
//   [lane]                                                         x . . . .
//
// A job is a block of pairs: its series a and b. Lanes with fewer rows copy the row above, and lanes with fewer columns
// compute on; neither changes their result, which is that of column m - 1.
// Cost: 5 operations for a cell of one dimension, and 2 accesses to `carries` for each column of a strip.
// Source: Sakoe and Chiba, "Dynamic programming algorithm optimization for spoken word recognition" (1978).
#include "portable.h"
#define WG_SIZE ${wg_size}
#define LANES ${lanes}
#define WIDTH (WG_SIZE * LANES)
#define ROWS 8
#define DIMS ${dims}
#define GRID ${int(grid)}
#define WINDOWED ${int(windowed)}
#define OPEN_BEGIN ${int(open_begin)}
#define OPEN_END ${int(open_end)}
typedef ${type} real_t;
typedef ${vector} reals_t;
typedef ${whole} ints_t;
#define LEAST(x, y) ((y) < (x) ? (y) : (x))
#define FAR ((reals_t)INFINITY)
% if lanes == 1:
#define LOAD(array, at) ((array)[(ulong)(at) * WG_SIZE + get_local_id(0)])
#define STORE(value, array, at) ((array)[(ulong)(at) * WG_SIZE + get_local_id(0)] = (value))
#define TEST(condition) (condition)
% else:
#define LOAD(array, at) vload${lanes}(at, array)
#define STORE(value, array, at) vstore${lanes}(value, at, array)
#define TEST(condition) convert_${"long" if type == "double" else "int"}${lanes}(condition)
% endif
#if GRID
#define A(i, d) ((reals_t)a[((ulong)a_begin + min(i, n_most - 1)) * DIMS + (d)])
#else
#define A(i, d) LOAD(a, ((ulong)a_begin + min(i, n_most - 1)) * DIMS + (d))
#endif
#define B(j, d) LOAD(b, ((ulong)b_begin + (j)) * DIMS + (d))

// What a pair of values adds to the cost of a cell.
inline reals_t distance_of(const reals_t x, const reals_t y)
{
    const reals_t apart = x - y;
    return ${"fabs(apart)" if absolute else "apart * apart"};
}

kernel CLGEOM_NARROW __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void warping(global const real_t *restrict a, global const real_t *restrict b, global const int *restrict jobs,
             global const int *restrict rows, global const int *restrict columns, const int begin, const int count, const int window,
             global real_t *restrict carries, const int longest, global real_t *restrict out)
{
    global real_t *carry = carries + (ulong)get_group_id(0) * longest * WIDTH;
    for (int job = begin + get_group_id(0); job < count; job += get_num_groups(0)) {
        // begins and greatest lengths of both
        const int4 first_job = CLGEOM_LOAD4(int, jobs, 2 * job), second_job = CLGEOM_LOAD4(int, jobs, 2 * job + 1);
        const int a_begin = first_job.x, n_most = first_job.y, a_block = first_job.z, n_least = first_job.w;
        const int b_begin = second_job.x, m_most = second_job.y, b_block = second_job.z, m_least = second_job.w;
#if GRID
        const ints_t n = (ints_t)n_most;
#else
        const ints_t n = LOAD(rows, a_block);
#endif
        const ints_t m = LOAD(columns, b_block);
#if WINDOWED
        const ints_t low = -window - max(n - m, 0), high = window + max(m - n, 0);
        // the widest of all lanes, and beyond
        const int lowest = -window - max(n_most - m_least, 0), highest = window + max(m_most - n_least, 0);
#endif
        int reached = -1;                           // the last column of the strip above
        for (int top = 0; top < n_most; top += ROWS) {
            int first = 0, last = m_most - 1;
#if WINDOWED
            first = max(top + lowest, 0);
            last = min(top + ROWS - 1 + highest, last);
#endif
            reals_t left[ROWS];
#if DIMS == 1
            reals_t own[ROWS];
#endif
            #pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                left[r] = FAR;
#if DIMS == 1
                own[r] = A(top + r, 0);
#endif
            }
            reals_t corner = top == 0 ? (reals_t)0 : FAR;       // above and left of the first cell
            if (first > 0)
                corner = top == 0 ? (OPEN_BEGIN ? (reals_t)0 : FAR) : LOAD(carry, first - 1);
            const bool whole = top + ROWS <= n_least;
            for (int j = first; j <= last; ++j) {
                reals_t up = top == 0 ? (OPEN_BEGIN ? (reals_t)0 : FAR) : FAR;
                if (j <= reached)
                    up = LOAD(carry, j);
                reals_t above = corner;
                corner = up;
#if DIMS == 1
                const reals_t value = B(j, 0);
#endif
                #pragma unroll
                for (int r = 0; r < ROWS; ++r) {
#if DIMS == 1
                    const reals_t cost = distance_of(own[r], value);
#else
                    reals_t cost = 0;
                    for (int d = 0; d < DIMS; ++d)
                        cost += distance_of(A(top + r, d), B(j, d));
#endif
                    const reals_t best = LEAST(above, up);
                    reals_t cell = cost + LEAST(best, left[r]);
#if WINDOWED
                    const ints_t apart = (ints_t)(j - top - r);
                    cell = TEST((apart >= low) & (apart <= high)) ? cell : FAR;
#endif
                    if (!whole)
                        cell = TEST((ints_t)(top + r) < n) ? cell : up;
                    above = left[r];
                    left[r] = cell;
                    up = cell;
                }
                STORE(up, carry, j);
            }
            reached = max(last, reached);
        }
        reals_t found = FAR;
        for (int j = ${"0" if open_end else "m_least - 1"}; j < m_most; ++j) {
            const reals_t cell = j <= reached ? LOAD(carry, j) : FAR;
#if OPEN_END && WINDOWED
            const ints_t apart = (ints_t)j - n + 1;
            const ints_t counts = ((ints_t)j < m) & (apart >= low) & (apart <= high);
#elif OPEN_END
            const ints_t counts = (ints_t)j < m;
#else
            const ints_t counts = (ints_t)j == m - 1;
#endif
            found = TEST(counts) ? LEAST(found, cell) : found;
        }
        STORE(found, out, job);
    }
}
