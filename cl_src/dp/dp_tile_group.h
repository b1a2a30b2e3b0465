// dp/dp_tile_group.h: data that the work-items of a group pass on while they fill a slanted tile. After dp/dp_tile.h.
//
//   item 0   above ->  block s       at step s item t computes block s - t. It takes the row above its block from item t - 1,
//   item 1   passed -> block s - 1   which has left it in `passed` one step before; the first item takes it from `above`, the
//   item 2   passed -> block s - 2   lower edge of the strip above, and the last one leaves its own in `below`
//
// The includer has STEPS, and SINGLE (1: groups of one launch share the memory of edges, so that it is volatile).
#if VECTOR == 1
#define NO_CELLS DP_NO_CELL
#else
#define NO_CELLS (cells_t)(0)
#endif
#define SHIFT (WG_SIZE - 1)      // steps that the last item is late
#if STEPS * UP * COLUMNS <= WG_SIZE * VECTOR
#define EACH_VECTOR(v, lid) const int v = lid; if (v < STEPS * PARTS)
#else
#define EACH_VECTOR(v, lid) for (int v = lid; v < STEPS * PARTS; v += WG_SIZE)
#endif

// Columns that the items of a tile reach, rounded up; an item loads CHUNK of them at a time.
#define READ_COLUMNS ((STEPS + SHIFT) * COLUMNS)
#define CHUNK (READ_COLUMNS > 7 * WG_SIZE ? 8 : (READ_COLUMNS + WG_SIZE - 1) / WG_SIZE)
#define WIDTH ((READ_COLUMNS + CHUNK * WG_SIZE - 1) / (CHUNK * WG_SIZE) * (CHUNK * WG_SIZE))
#define EACH_OF_CHUNK(k) _Pragma("unroll") for (int k = 0; k < CHUNK * WG_SIZE; k += WG_SIZE)
#if READ_COLUMNS <= CHUNK * WG_SIZE
#define EACH_COLUMN(c, k, lid) for (int c = lid, once = 1; once; once = 0) EACH_OF_CHUNK(k)
#else
#define EACH_COLUMN(c, k, lid) for (int c = lid; c < WIDTH; c += CHUNK * WG_SIZE) EACH_OF_CHUNK(k)
#endif

#if SINGLE
#define EDGE volatile global const cell_t
#define EDGE_VECTOR volatile global const cells_t
#else
#define EDGE global const cell_t
#define EDGE_VECTOR global const cells_t
#endif

// Loads the part of the lower edge of the strip above that the first item needs in this tile; zeros above the first strip.
inline void load_above(local cells_t *above, EDGE *upper, const int base, const bool top, const int edge_pitch, const int lid)
{
    EACH_VECTOR(v, lid) {
        const int column = (base + v / PARTS) * COLUMNS + v % ACROSS * VECTOR;
        above[v] = !top && column < edge_pitch ? *(EDGE_VECTOR *)(upper + (size_t)(v % PARTS / ACROSS) * edge_pitch + column)
                                               : NO_CELLS;
    }
}
inline void store_below(global cell_t *lower, local const cells_t *below, const int base, const int edge_pitch, const int lid)
{
    EACH_VECTOR(v, lid) {
        const int column = (base - SHIFT + v / PARTS) * COLUMNS + v % ACROSS * VECTOR;
        if (column >= 0 && column < edge_pitch)
            *(global cells_t *)(lower + (size_t)(v % PARTS / ACROSS) * edge_pitch + column) = below[v];
    }
}

// Loads the rows above a block from the item above; and at the end of a step stores `lower`, the rows for the item below.
inline void take_upper(value_t window[][WIDE], local cells_t (*passed)[PARTS][WG_SIZE], local const cells_t *above,
                       const int step, const int lid)
{
    #pragma unroll
    for (int p = 0; p < PARTS; ++p) {
        const cells_t from = *(lid ? &passed[(step + 1) & 1][p][lid - 1] : &above[step * PARTS + p]);
        SPREAD(&window[p / ACROSS][LEFT + p % ACROSS * VECTOR], from);
    }
}
inline void pass_lower(local cells_t (*passed)[PARTS][WG_SIZE], local cells_t *below, value_t lower[][COLUMNS], const int step,
                       const int lid)
{
    #pragma unroll
    for (int p = 0; p < PARTS; ++p)
        *(lid < SHIFT ? &passed[step & 1][p][lid] : &below[step * PARTS + p]) = CELLS(&lower[p / ACROSS][p % ACROSS * VECTOR]);
}
// Before the first step: restores the rows that the item had passed on at the end of the tile before.
inline void pass_again(local cells_t (*passed)[PARTS][WG_SIZE], value_t lower[][COLUMNS], const int lid)
{
    #pragma unroll
    for (int p = 0; p < PARTS; ++p)
        passed[1][p][lid] = CELLS(&lower[p / ACROSS][p % ACROSS * VECTOR]);
}
inline void keep_lower(value_t lower[][COLUMNS], value_t window[][WIDE])
{
    #pragma unroll
    for (int u = 0; u < UP; ++u)
        #pragma unroll
        for (int c = 0; c < COLUMNS; ++c)
            lower[u][c] = window[ROWS + u][LEFT + c];
}

// Stores what the item passes on to the next tile: the left columns, and after them these rows.
inline void load_carried(value_t window[][WIDE], value_t lower[][COLUMNS], global const cell_t *state, const bool fresh)
{
    load_left(window, state, fresh);
    #pragma unroll
    for (int u = 0; u < UP; ++u)
        #pragma unroll
        for (int c = 0; c < COLUMNS; ++c)
            lower[u][c] = fresh ? DP_NO_CELL : state[(LEFT * (UP + ROWS) + u * COLUMNS + c) * WG_SIZE];
}
inline void store_carried(global cell_t *state, value_t window[][WIDE], value_t lower[][COLUMNS])
{
    store_left(state, window);
    #pragma unroll
    for (int u = 0; u < UP; ++u)
        #pragma unroll
        for (int c = 0; c < COLUMNS; ++c)
            state[(LEFT * (UP + ROWS) + u * COLUMNS + c) * WG_SIZE] = lower[u][c];
}
