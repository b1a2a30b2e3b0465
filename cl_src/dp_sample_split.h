// dp_sample_split.h: an equation without its reduction, as split kernels include it, for those compiled alone.
typedef int stored_t;
typedef int cell_t;
typedef int index_t;
#define DP_WIDENED 0
#define DP_HAS_DECISION 0
#define DP_DECISION(p)
#define DP_STORED_DECISION(d) (d)
#define DP_KERNEL_PARAMETERS
#define DP_ARGUMENTS
inline cell_t dp_split_term(const int i, const int j, const int dp_k, const int n, const int m)
{
    return (i + 1) * (dp_k + 2) * (j + 2);
}
inline cell_t dp_cell(const int i, const int j, const int n, const int m DP_CONTEXT)
{
    return i >= j ? 0 : dp_split;
}
