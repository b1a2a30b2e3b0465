// dp/dp_sample_types.h: the types of the sample equations.
typedef int stored_t;
typedef int cell_t;
typedef int value_t;
typedef int index_t;
#define DP_WIDENED 0
#define DP_HAS_DECISION 0
#define DP_DECISION(p)
#define DP_STORED_DECISION(d) (d)
#define DP_KERNEL_PARAMETERS
#define DP_ARGUMENTS
#define DP_TRAPS 0
