// dp/dp_tile_choices.h: the choices of a block's cells in registers. After dp/dp_tile.h, whose FILL_BLOCK keeps them here.
//
//   won[r]   [ .. | choice of column 1 | choice of column 0 ]      a row of the block, BITS for each choice
//
// The includer has BITS (0: none is kept) and COLUMNS; DP_HAS_DECISION where the equation has choices, kept or not.
#if BITS
#if BITS * COLUMNS == 8
typedef uchar packed_t;
#elif BITS * COLUMNS == 16
typedef ushort packed_t;
#elif BITS * COLUMNS == 32
typedef uint packed_t;
#else
typedef ulong packed_t;
#endif
#define NO_CHOICES packed_t won[ROWS] = {0}; uint decision = 0
#define KEEP_CHOICE(r, c) won[r] |= (packed_t)decision << (c * BITS)

// Stores the choices of block `at` for its rows above row `end`.
inline void store_choices(global packed_t *decisions, const int pitch, const packed_t *won, const int row, const int at,
                          const int top, const int end)
{
    #pragma unroll
    for (int r = 0; r < ROWS; ++r)
        if (row + r < end)
            decisions[(size_t)(row + r - top) * pitch + at] = won[r];
}
#else
#if DP_HAS_DECISION
#define NO_CHOICES uint decision = 0
#else
#define NO_CHOICES
#endif
#define KEEP_CHOICE(r, c)
#endif
