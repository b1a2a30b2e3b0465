// arc/arc_chain.h: Andrew's monotone chain for candidates of ascending x, of which several may share an x: the highest of
// these counts for an upper side, the lowest for a lower one. The includer has geometry/orient2d.h, point_t, KEEP 0, hood/hood.h, arc/arc_turn.h and
//
//   ARC_ID(i)        the number of candidate i
//   ARC_LOAD(id)     its coordinates
//   ARC_STACK(k)     the k-th number on the stack
//
// Leaves on the stack the corners of candidates `first` .. `first + count - 1`, from left to right, and in `size` how
// many they are. The stack may be where the numbers came from.
#define ARC_CHAIN(first, count, side, size)                                                                       \
    {                                                                                                             \
        point_t below = 0, top = 0;                                                                               \
        size = 0;                                                                                                 \
        for (uint k = 0; k < (count); ++k) {                                                                      \
            const uint id = ARC_ID((first) + k);                                                                  \
            const point_t p = ARC_LOAD(id);                                                                       \
            if (size > 0 && p.x == top.x) {                                                                       \
                if ((side) ? p.y <= top.y : p.y >= top.y)                                                         \
                    continue;                                                                                     \
                --size;                                                                                           \
                top = below;                                                                                      \
                if (size > 1)                                                                                     \
                    below = ARC_LOAD(ARC_STACK(size - 2));                                                        \
            }                                                                                                     \
            while (size > 1) {                                                                                    \
                const int turn = arc_turn(side, below, top, p);                                                   \
                if (IS_CORNER(turn))                                                                              \
                    break;                                                                                        \
                --size;                                                                                           \
                top = below;                                                                                      \
                if (size > 1)                                                                                     \
                    below = ARC_LOAD(ARC_STACK(size - 2));                                                        \
            }                                                                                                     \
            ARC_STACK(size) = id;                                                                                 \
            ++size;                                                                                               \
            below = top;                                                                                          \
            top = p;                                                                                              \
        }                                                                                                         \
    }
