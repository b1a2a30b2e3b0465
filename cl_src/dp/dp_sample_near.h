// dp/dp_sample_near.h: an equation that gets the cells above and to the left as arguments, for kernels compiled alone.
#define NEAR , const value_t dp_near0, const value_t dp_near1, const value_t dp_near2
#define DP_CONTEXT NEAR
#define NEAR_OF(r, c) , w[UP + r - 1][LEFT + c - 1], w[UP + r - 1][LEFT + c], w[UP + r][LEFT + c - 1]
#define M(a, b) ((a) == (i) ? dp_near2 : (b) == (j) ? dp_near1 : dp_near0)
#include "dp/dp_sample.h"
