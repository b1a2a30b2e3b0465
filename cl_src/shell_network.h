// shell_network.h: the step that sorting networks are made of. The includer has code_t.
#define CODES_IN_ORDER(a, b)                       \
    do {                                           \
        const code_t lesser = a < b ? a : b;       \
        b = a < b ? b : a;                         \
        a = lesser;                                \
    } while (0)
