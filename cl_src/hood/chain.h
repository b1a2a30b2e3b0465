// hood/chain.h: Andrew's monotone chain (1979), in steps. The includer has geometry/orient2d.h, KEEP_COLLINEAR and
// hood/hood.h.
//
// Points come in lexicographic order, or in the opposite one. A stack holds the corners so far, and the two on top are in
// registers, too; where and as what the others are kept is the includer's choice:
//
//   POINT_AT(k)    the coordinates of entry k of the stack: a macro of the includer's
//
// For each point p: CHAIN_TRIM, then the includer writes entry stack.size of its stack, then chain_push.
typedef struct { point_t below, top; uint size; } stack_t;

// Takes the entry on top off.
#define CHAIN_POP(stack, POINT_AT)                      \
    {                                                   \
        --(stack).size;                                 \
        (stack).top = (stack).below;                    \
        if ((stack).size > 1)                           \
            (stack).below = POINT_AT((stack).size - 2); \
    }

// Takes off what is no corner when p comes next.
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

// Whether p equals the point on top: of equal points the first stays.
inline int chain_has(const stack_t *stack, point_t p)
{
    return stack->size > 0 && p.x == stack->top.x && p.y == stack->top.y;
}
