<%page args="code_bits=32, counting=False, variant='serial', wg_size=1, items_per_thread=1"/>\
// shell_a: a work-item for each h-subsequence of a phase; its global id is the h-subsequence.
//
//   codes    | 0 1 2 .. | 0 1 2 .. | ..      rows of `gap` elements: item i sorts h-subsequence i
//
// Plain insertion sort: a full sort. The last phases have few items: 19, 5 and 1 with Sedgewick's gaps.
#define WG_SIZE ${wg_size}
typedef ${"uint" if code_bits == 32 else "ulong"} code_t;
#define COUNTING ${int(counting)}
#include "keys/shell_chunk.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void shell_a(global code_t *codes, const uint n, const uint gap, global ulong *counts)
{
    const uint subsequence = get_global_id(0);
    traffic_t traffic = {0, 0};
    if (subsequence < gap)
        insertion_upwards(codes, subsequence, gap, subsequence_rows(n, gap, subsequence), &traffic);
    COUNT_GROUP(counts, get_group_id(0), traffic, 1);
}
