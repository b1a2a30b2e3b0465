// dp/dp_sample_wide.h: an equation and its reduction apart, as wide kernels include it, for those compiled alone.
#include "dp/dp_sample_types.h"
#define DP_WIDE_TYPE int
#define DP_WIDE_START INT_MAX
#define DP_WIDE_BETTER <
inline void dp_range(int *dp_lo, int *dp_hi, const int i, const int j, const int n, const int m DP_CONTEXT)
{
    *dp_lo = 0;
    *dp_hi = i;
}
inline int dp_body(const int dp_k, const int i, const int j, const int n, const int m DP_CONTEXT)
{
    return M(dp_k, j) + 1;
}
inline value_t dp_cell(const int i, const int j, const int n, const int m DP_CONTEXT, const int dp_split, const int dp_split_k)
{
    return i == 0 ? 0 : dp_split;
}
