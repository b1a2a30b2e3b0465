// dp/dp_tile_steps.h: which steps of a tile need no care for edges. After dp/dp_tile.h.
//
// The includer has STEPS, and FLUSH where a group gathers what it stores (dp/dp_tile_flush.h).

// In steps enter <= s < leave all items have whole blocks, none in the first row or column nor, where the `last` row is
// kept, in that. Both are STEPS if there are none. Multiples of FLUSH.
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
