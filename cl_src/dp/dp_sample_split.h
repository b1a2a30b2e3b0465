// dp/dp_sample_split.h: an equation without its reduction, as split kernels include it, for those compiled alone.
#include "dp/dp_sample_types.h"
typedef int sum_t;
inline cell_t dp_split_term(const int i, const int j, const int dp_k, const int n, const int m)
{
    return (i + 1) * (dp_k + 2) * (j + 2);
}
inline value_t dp_cell(const int i, const int j, const int n, const int m DP_CONTEXT)
{
    return i >= j ? 0 : dp_split;
}
