<%page args="code_bits=32, counting=False, variant='group', wg_size=64, items_per_thread=1"/>\
// shell_exchange: compares the ends of neighbouring parts and swaps those out of order (between passes of shell_e,
// shell_f).
//
//   ends     | s l | s l | s l | s l |      smallest and largest of each part; `parts` to an h-subsequence
//   item     pair      0 - 1   2 - 3        parity 0, or 1 - 2 at parity 1: a part of one element is both of its ends
//
// Sets changed to `round` when it swaps.
#define WG_SIZE ${wg_size}
typedef ${"uint" if code_bits == 32 else "ulong"} code_t;
#define COUNTING ${int(counting)}
#include "keys/shell_chunk.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void shell_exchange(global code_t *ends, const uint n, const uint gap, const uint parts, const uint parity,
                    const uint round, global uint *changed, global ulong *counts)
{
    const uint pairs = parts / 2;
    const ulong item = get_global_id(0);
    const uint subsequence = min((uint)(item / pairs), gap - 1), left = 2 * (uint)(item % pairs) + parity;
    const uint rows = subsequence_rows(n, gap, subsequence), there = min(parts, rows);
    traffic_t traffic = {0, 0};
    if (item / pairs < gap && left + 1 < there) {
        const ulong part = (ulong)subsequence * parts + left;
        const uint size = chunk_begin(rows, there, left + 1) - chunk_begin(rows, there, left);
        const ulong largest = 2 * part + (size > 1), smallest = 2 * (part + 1);
        const code_t below = code_read(ends, largest, &traffic), above = code_read(ends, smallest, &traffic);
        if (below > above) {
            code_write(ends, largest, above, &traffic);
            code_write(ends, smallest, below, &traffic);
            *changed = round;
        }
    }
    COUNT_GROUP(counts, get_group_id(0), traffic, 0);
}
