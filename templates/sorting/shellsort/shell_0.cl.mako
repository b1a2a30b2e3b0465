<%page args="code_bits=32, counting=False, variant='serial', wg_size=1, items_per_thread=1"/>\
// shell_0: one work-item sorts h-subsequences `begin` to `end` of a phase, one after the other (the linear version).
//
//   codes    | b . . e . | b . . e . | ..      rows of `gap` elements
//   item     the only one: h-subsequence b from its first element to its last, then the next, up to e
//
// Plain insertion sort: a full sort when all gaps down to 1 are run.
#define WG_SIZE 1
typedef ${"uint" if code_bits == 32 else "ulong"} code_t;
#define COUNTING ${int(counting)}
#include "keys/shell_chunk.h"

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void shell_0(global code_t *codes, const uint n, const uint gap, const uint begin, const uint end,
             global ulong *counts)
{
    traffic_t traffic = {0, 0};
    for (uint subsequence = begin; subsequence < end; ++subsequence)
        insertion_upwards(codes, subsequence, gap, subsequence_rows(n, gap, subsequence), &traffic);
    COUNT_GROUP(counts, 0, traffic, begin == 0);
}
