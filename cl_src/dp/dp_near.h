// dp/dp_near.h: macros for an equation in a kernel that passes it the cells that it reads. Included before the equation;
// the kernel then defines DP_CONTEXT and M(a, b).
#include "dp/dp_math.h"

// As the function, in the index's own type.
#define dp_lesser(a, b) ((a) < (b) ? (a) : (b))
#define dp_inside(index, size) (dp_lesser(index, (size) - 1) > 0 ? dp_lesser(index, (size) - 1) : 0)

// x, which is at least `least`, in a form that shows this to compilers: they fold the conditions of base cases.
#define AT_LEAST(x, least) ((((x) - (least)) & INT_MAX) + (least))
