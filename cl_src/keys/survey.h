// keys/survey.h: the result of a survey of keys. After keys/key_order.h.
//
//   varying    bits in which some key's ordered key differs from that of keys[0]; a pass over other bits has no effect
//   special    1 if some key is -0.0 or NaN (floats), so that the ordered key does not determine the key's bits; 1 for
//              dates and durations, whose keys are never made of ordered ones
//   descents   1 if some key is below the one before it
//
// Only bits in `significant` count for varying and descents.
#if CLGEOM_KEY_FLOAT == 1
#define SPECIAL(bits) ((key_t)((bits) == CLGEOM_KEY_SIGN) | key_nan_mask(bits))
#elif CLGEOM_KEY_FLOAT == 2
#define SPECIAL(bits) ((key_t)1)
#else
#define SPECIAL(bits) ((key_t)0)
#endif

inline void store_found(global ulong *found, key_t varying, key_t special, key_t descents)
{
    found[0] = varying;
    found[1] = special != 0;
    found[2] = descents != 0;
}
