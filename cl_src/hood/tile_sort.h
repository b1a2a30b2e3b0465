// hood/tile_sort.h: indices of points in local memory sorted by x, y and id, by a work-group. The includer has
// geometry/points.h, WG_SIZE, RUN, a power of two, and
//
//   source_t              the source of the points
//   id_of(source, k)      the id of point k
//
// rank_runs, then merge_runs: O(RUN) comparisons for each point, then O(log n) for each of log2(n / RUN) passes.

// Local memory: coordinates, and indices in order; the next order is written to `to`.
typedef struct { local real_t *x, *y; local ushort *sorted, *to; } tile_t;

inline void swap_orders(tile_t *tile)
{
    local ushort *const swap = tile->sorted;
    tile->sorted = tile->to;
    tile->to = swap;
}

// Within a run an index moves to the position that is the number of points before it.
inline void rank_runs(const tile_t *tile, const source_t *source, uint count, uint lid)
{
    local const real_t *x = tile->x, *y = tile->y;
    for (uint i = lid; i < count; i += WG_SIZE) {
        const uint run = i & ~(RUN - 1), end = min(run + RUN, count);
        const real_t own_x = x[i], own_y = y[i];
        uint rank = run, equal = 0;
#pragma unroll 4
        for (uint k = run; k < end; ++k) {
            const int same_x = x[k] == own_x;
            rank += (x[k] < own_x) | (same_x & (y[k] < own_y));
            equal += same_x & (y[k] == own_y);
        }
        for (uint k = run; k < end && equal > 1; ++k)      // equal points
            rank += x[k] == own_x && y[k] == own_y && id_of(source, k) < id_of(source, i);
        tile->sorted[rank] = i;
    }
}

// Merges runs two by two until there is one: an index moves by the number of points of the other run that are before it. The
// loop ends as in hood/hood_group.h.
inline void merge_runs(tile_t *tile, const source_t *source, uint count, uint lid)
{
    local const real_t *x = tile->x, *y = tile->y;
    for (uint width = RUN;; width *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (width >= count)
            break;
        for (uint i = lid; i < count; i += WG_SIZE) {
            const uint index = tile->sorted[i], run = i & ~(width - 1), other = min(run ^ width, count);
            uint lo = other, hi = min(other + width, count);
            while (lo < hi) {
                const uint mid = (lo + hi) / 2, at = tile->sorted[mid];
                if (CLGEOM_BEFORE(x[at], y[at], x[index], y[index], id_of(source, at) < id_of(source, index)))
                    lo = mid + 1;
                else
                    hi = mid;
            }
            tile->to[(run & ~width) + (i - run) + (lo - other)] = index;
        }
        swap_orders(tile);
    }
}
