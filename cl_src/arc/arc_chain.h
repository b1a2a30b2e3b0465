// arc/arc_chain.h: Andrew's monotone chain of candidates from left to right. The includer has geometry/orient2d.h, point_t,
// KEEP_COLLINEAR 0, hood/hood.h, arc/arc_turn.h and
//
//   ARC_ID(i)              candidate i as an entry of the stack, for example its number
//   ARC_LOAD(entry)        its coordinates
//   ARC_STACK(k)           entry k of the stack, which may overwrite the numbers of the candidates
//   ARC_TURN(side, a, b, c)   optional: the orientation test; above 0 where the chain a, b, c keeps b
//
// Leaves the corners on the stack. Cost: each candidate is pushed once and popped at most once.
// Source: Andrew, "Another efficient algorithm for convex hulls in two dimensions" (1979).
#ifndef ARC_TURN
#define ARC_TURN(side, a, b, c) arc_turn(side, a, b, c)
#endif

// The two corners on top of the stack, and the size of the stack.
typedef struct {
    point_t below, top;
    uint size;
} chain_t;

#define ARC_POP(chain)                                                                                            \
    {                                                                                                             \
        --(chain).size;                                                                                           \
        (chain).top = (chain).below;                                                                              \
        if ((chain).size > 1)                                                                                     \
            (chain).below = ARC_LOAD(ARC_STACK((chain).size - 2));                                                \
    }

// Appends a candidate at p, which is right of all before it.
#define ARC_PUSH(chain, entry, p, side)                                                                           \
    {                                                                                                             \
        while ((chain).size > 1 && !IS_CORNER(ARC_TURN(side, (chain).below, (chain).top, p)))                     \
            ARC_POP(chain)                                                                                        \
        ARC_STACK((chain).size) = entry;                                                                          \
        ++(chain).size;                                                                                           \
        (chain).below = (chain).top;                                                                              \
        (chain).top = p;                                                                                          \
    }

// The same where candidates may have equal x: an upper side takes the highest of them, a lower side the lowest.
#define ARC_PUSH_OF_COLUMN(chain, entry, p, side)                                                                 \
    do {                                                                                                          \
        if ((chain).size > 0 && (p).x == (chain).top.x) {                                                         \
            if ((side) ? (p).y <= (chain).top.y : (p).y >= (chain).top.y)                                         \
                break;                                                                                            \
            ARC_POP(chain)                                                                                        \
        }                                                                                                         \
        ARC_PUSH(chain, entry, p, side)                                                                           \
    } while (0)

// The chain of candidates `first` .. `first + count - 1`, which may have equal x; `size` becomes its number of corners.
#define ARC_CHAIN(first, count, side, size)                                                                       \
    {                                                                                                             \
        chain_t chain = {0, 0, 0};                                                                                \
        for (uint k = 0; k < (count); ++k) {                                                                      \
            const uint entry = ARC_ID((first) + k);                                                               \
            const point_t p = ARC_LOAD(entry);                                                                    \
            ARC_PUSH_OF_COLUMN(chain, entry, p, side);                                                            \
        }                                                                                                         \
        size = chain.size;                                                                                        \
    }
