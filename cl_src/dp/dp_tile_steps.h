// dp/dp_tile_steps.h: the steps of a tile in which no block is at an edge of the table. After dp/dp_tile.h.
//
// The includer has STEPS, and FLUSH if a group gathers its stores (dp/dp_tile_flush.h).

// In steps enter <= s < leave all items have whole blocks, none of them in the first row or column, or in the last row if
// `last` keeps that. Both are multiples of FLUSH, and STEPS if there are no such steps.
inline void inner_steps(int *enter, int *leave, const int base, const int begin, const int bottom, const int m, const bool last)
{
    *enter = max(WG_SIZE - base, 0);   // the last item is WG_SIZE - 1 steps late
    *leave = min(m / COLUMNS - base, STEPS);
#if FLUSH
    *enter = (*enter + FLUSH - 1) / FLUSH * FLUSH;
    *leave = *leave / FLUSH * FLUSH;
#endif
    if (begin == 0 || begin + STRIP + last > bottom || *enter >= *leave)
        *enter = *leave = STEPS;
}
