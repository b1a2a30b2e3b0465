// batch/batch_sort.h: points of one group sorted by x, y and number, by one work-item of a CPU. The includer has
// geometry/points.h and CAPACITY, the most points.
//
// Runs of 64 points are sorted by counting the points before each one, which has no branches to mispredict. Then runs are
// merged two by two.
#define RUN 64
#if defined(CLGEOM_COORD_double)
#define SORT_LANES 4
typedef long rank_t;
typedef long4 rank_v;
#else
#define SORT_LANES 8
typedef int rank_t;
typedef int8 rank_v;
#endif
typedef CLGEOM_PASTE(REAL, SORT_LANES) sort_v;

typedef struct { real_t x[CAPACITY], y[CAPACITY]; ushort number[CAPACITY]; } row_t;

// Sorts up to RUN points from `begin` on: each moves to the index that is the number of points before it.
inline void sort_run(const row_t *row, row_t *to, uint begin, uint count)
{
    const real_t *x = row->x + begin, *y = row->y + begin;
    sort_v xs[RUN / SORT_LANES], ys[RUN / SORT_LANES];
    rank_v ranks[RUN / SORT_LANES], indices;
    for (uint k = 0; k < count; ++k) {
        ((real_t *)xs)[k] = x[k];
        ((real_t *)ys)[k] = y[k];
    }
    for (uint k = 0; k < SORT_LANES; ++k)
        ((rank_t *)&indices)[k] = k;
    for (uint k = 0; k * SORT_LANES < count; ++k) {
        const sort_v xk = xs[k], yk = ys[k];
        rank_v rank = 0;
        for (uint j = 0; j < count; ++j) {
            const sort_v xj = x[j], yj = y[j];
            rank -= (xj < xk) | ((xj == xk) & ((yj < yk) | ((yj == yk) & ((rank_t)j < indices))));
        }
        ranks[k] = rank;
        indices += SORT_LANES;
    }
    for (uint k = 0; k < count; ++k) {
        const uint index = begin + ((const rank_t *)ranks)[k];
        to->x[index] = x[k];
        to->y[index] = y[k];
        to->number[index] = row->number[begin + k];
    }
}

// Merges two neighbouring runs.
inline void merge_runs(const row_t *row, row_t *to, uint begin, uint middle, uint end)
{
    uint i = begin, j = middle;
    for (uint k = begin; k < end; ++k) {
        const uint a = min(i, end - 1), b = min(j, end - 1);
        const int is_before = CLGEOM_BEFORE(row->x[b], row->y[b], row->x[a], row->y[a], 0);
        const int second = i == middle || (j < end && is_before);
        const uint from = second ? j : i;
        to->x[k] = row->x[from];
        to->y[k] = row->y[from];
        to->number[k] = row->number[from];
        i += !second;
        j += second;
    }
}

// Sorts rows[0], with rows[1] as scratch memory. Returns the sorted one of them, without repeated points.
inline row_t *item_sort(row_t *rows, uint *count)
{
    uint now = 1;
    for (uint k = 0; k < *count; k += RUN)
        sort_run(&rows[0], &rows[1], k, min((uint)RUN, *count - k));
    for (uint run = RUN; run < *count; run *= 2, now = 1 - now)
        for (uint begin = 0; begin < *count; begin += 2 * run)
            merge_runs(&rows[now], &rows[1 - now], begin, min(begin + run, *count), min(begin + 2 * run, *count));
    row_t *row = &rows[now];
    uint distinct = min(*count, 1u);
    for (uint k = 1; k < *count; ++k) {
        const int differs = row->x[k] != row->x[distinct - 1] || row->y[k] != row->y[distinct - 1];
        row->x[distinct] = row->x[k];
        row->y[distinct] = row->y[k];
        row->number[distinct] = row->number[k];
        distinct += differs;
    }
    *count = distinct;
    return row;
}
