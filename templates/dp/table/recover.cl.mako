<%page args="out='int', function='', helpers='', define_m='', parameters_m='', names_m='', access_m='', define_d='', parameters_d='', names_d='', access_d='', resumed=False, variant='group', wg_size=1, items_per_thread=1"/>\
// recover: runs a user's function on a filled table, in one work-item, so that the table need not be copied.
//
//   table, decisions   M(a, b), D(a, b)
//   out                [ the function's output .. ]        count: its length; -1: the function needs another launch
//   state              [ the data that the function keeps between launches .. ]
//
// A launch after the last one does nothing.
#include "portable.h"
#define WG_SIZE ${wg_size}
#include "dp/dp_pointers.h"
${define_m}
${define_d}
#include "dp/dp_math.h"
#include "dp/dp_pattern.h"
typedef ${out} out_t;
<%
    stores = [(name, parameters, names, access) for name, parameters, names, access in (
        ("M", parameters_m, names_m, access_m), ("D", parameters_d, names_d, access_d)) if parameters]
%>\
#define DP_CONTEXT ${"".join(", " + parameters for _, parameters, _, _ in stores)}
#define DP_PASS ${"".join(", " + names for _, _, names, _ in stores)}
% for name, _, _, access in stores:
#define ${name}(a, b) ${access}
% endfor
${helpers}
% if function:
${function}
% else:
#define DP_KERNEL_PARAMETERS
#define DP_ARGUMENTS
inline int dp_recover(const int n, const int m, global out_t *out, const int out_size${", global long *state" if resumed else ""})
{
    for (int k = 0; k < out_size; ++k) out[k] = n - m;
    return out_size;
}
% endif

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void recover(${"".join(parameters + ", " for _, parameters, _, _ in stores)}const int n, const int m,
             global out_t *out, const int out_size, global int *count${", global long *state" if resumed else ""} DP_KERNEL_PARAMETERS)
{
    if (get_global_id(0) == 0${" && *count == -1" if resumed else ""})
        *count = dp_recover(n, m, out, out_size${", state" if resumed else ""} DP_PASS DP_ARGUMENTS);
}
