// dp_sample.h: an equation as kernels include it, for kernels that are compiled alone.
typedef int stored_t;
typedef int cell_t;
typedef int index_t;
#define DP_WIDENED 0
#define DP_HAS_DECISION 0
#define DP_DECISION(p)
#define DP_STORED_DECISION(d) (d)
#define DP_KERNEL_PARAMETERS
#define DP_ARGUMENTS
inline cell_t dp_cell(const int i, const int j, const int n, const int m DP_CONTEXT)
{
    return i == 0 || j == 0 ? 1 : dp_max_int(M(i - 1, j), M(i - 1, j - 1));
}
