<%page args="code_bits=32, counting=False, variant='group', wg_size=64, items_per_thread=1"/>\
// shell_b: a work-group for each h-subsequence; each of its items insertion-sorts a chunk of it, from the smallest up.
//
//   group    h-subsequence: every `gap`-th element
//   items    [ chunk 0 | chunk 1 | .. | chunk items-1 ]      neighbouring elements of the h-subsequence
//
// No full sort: nothing passes from one chunk to the next, so a last phase of several chunks leaves several runs. A
// work-item does the work of several items if there are more items than WG_SIZE; that changes no result.
#define WG_SIZE ${wg_size}
typedef ${"uint" if code_bits == 32 else "ulong"} code_t;
#define COUNTING ${int(counting)}
#include "keys/shell_chunk.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void shell_b(global code_t *codes, const uint n, const uint gap, const uint items, global ulong *counts)
{
    const uint subsequence = get_group_id(0);
    const uint rows = subsequence_rows(n, gap, subsequence), chunks = min(items, rows);
    traffic_t traffic = {0, 0};
    for (uint chunk = get_local_id(0); chunk < chunks; chunk += WG_SIZE) {
        const uint begin = chunk_begin(rows, chunks, chunk), end = chunk_begin(rows, chunks, chunk + 1);
        insertion_upwards(codes, subsequence + (ulong)begin * gap, gap, end - begin, &traffic);
    }
    COUNT_GROUP(counts, subsequence, traffic, 1);
}
