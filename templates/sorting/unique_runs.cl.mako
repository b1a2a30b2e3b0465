<%page args="index='', count='', variant='group', wg_size=256, items_per_thread=1"/>\
// unique_runs: the length of each run of equal keys, and the index in the input of its first key.
//
//   starts  [ 0 2 3 6 .. ]      where each run begins in the sorted keys
//   order   the index of each sorted key in the input; of equal keys the first one comes first
//   counts  [ 2 1 3 .. ]        up to the start of the next run, or the end
//
// Reads the starts, writes one number a run and result.
#include "portable.h"
#define FIRST ${int(bool(index))}
#define COUNTS ${int(bool(count))}
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "group/share.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void unique_runs(global const uint *starts, const uint runs, const uint n
#if FIRST
                 , global const uint *order, global ${index or "uint"} *first
#endif
#if COUNTS
                 , global ${count or "uint"} *counts
#endif
                 )
{
    EACH_OF(uint, k, runs, get_global_id(0), get_global_size(0)) {
#if FIRST
        first[k] = order[starts[k]];
#endif
#if COUNTS
        counts[k] = (k + 1 < runs ? starts[k + 1] : n) - starts[k];
#endif
    }
}
