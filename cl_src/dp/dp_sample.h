// dp/dp_sample.h: an equation as kernels include it, for kernels that are compiled alone.
#include "dp/dp_sample_types.h"
inline value_t dp_cell(const int i, const int j, const int n, const int m DP_CONTEXT)
{
    return i == 0 || j == 0 ? 1 : dp_max_int(M(i - 1, j), M(i - 1, j - 1));
}
