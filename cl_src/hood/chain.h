// hood/chain.h: Andrew's monotone chain (1979), in steps. The includer has geometry/orient2d.h, KEEP_COLLINEAR and
// hood/hood.h.
//
// Points are in lexicographic order, or in the opposite one. A stack holds the corners so far; the two on top are also in
// registers. The includer stores the others:
//
//   POINT_AT(k)    the coordinates of entry k of the stack: a macro of the includer's
//
// For each point p: CHAIN_TRIM, then the includer writes entry stack.size of its stack, then chain_push.
typedef struct { point_t below, top; uint size; } stack_t;

// Pops the entry on top.
#define CHAIN_POP(stack, POINT_AT)                      \
    {                                                   \
        --(stack).size;                                 \
        (stack).top = (stack).below;                    \
        if ((stack).size > 1)                           \
            (stack).below = POINT_AT((stack).size - 2); \
    }

// Pops the entries that are not corners when p comes next.
#define CHAIN_TRIM(stack, side, p, POINT_AT)                                      \
    while ((stack).size > 1) {                                                    \
        const int turn_ = hood_turn((side), (stack).below, (stack).top, (p));     \
        if (IS_CORNER(turn_))                                                     \
            break;                                                                \
        CHAIN_POP(stack, POINT_AT)                                                \
    }

inline void chain_push(stack_t *stack, point_t p)
{
    stack->below = stack->top;
    stack->top = p;
    ++stack->size;
}

// Whether p equals the point on top. Of equal points the first is kept.
inline int chain_has(const stack_t *stack, point_t p)
{
    return stack->size > 0 && p.x == stack->top.x && p.y == stack->top.y;
}
