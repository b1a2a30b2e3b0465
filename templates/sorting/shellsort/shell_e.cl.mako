<%page args="code_bits=32, counting=False, capacity=64, variant='serial', wg_size=1, items_per_thread=1"/>\
// shell_e: "private chunks". Every chunk has a work-group of one item, which sorts it in local memory.
//
//   group    chunk `group % items` of h-subsequence `group / items`
//   local    [ copy of the chunk ]                       insertion sort, written back
//   ends     | smallest, largest | smallest, largest | ..   one pair a chunk, in global memory
//
// Neighbours exchange elements through `ends` only: between passes shell_exchange swaps those out of order there, and the
// next pass (`again`) takes its two end elements from there. The host launches passes until nothing changes: a full sort.
#define WG_SIZE 1
#define CAPACITY ${capacity}   // elements of a chunk at most
typedef ${"uint" if code_bits == 32 else "ulong"} code_t;
#define COUNTING ${int(counting)}
#include "keys/shell_chunk.h"

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void shell_e(global code_t *codes, const uint n, const uint gap, const uint items, const uint again,
             global code_t *ends, global ulong *counts)
{
    local code_t local_codes[CAPACITY];
    const ulong group = get_group_id(0);
    const uint subsequence = group / items, chunk = group % items;
    const uint rows = subsequence_rows(n, gap, subsequence), chunks = min(items, rows);
    traffic_t traffic = {0, 0};
    if (chunk < chunks) {
        const uint begin = chunk_begin(rows, chunks, chunk), size = chunk_begin(rows, chunks, chunk + 1) - begin;
        const ulong first = subsequence + (ulong)begin * gap;
        for (uint i = 0; i < size; ++i)
            if (again && (i == 0 || i + 1 == size))
                local_codes[i] = code_read(ends, 2 * group + (i > 0), &traffic);
            else
                local_codes[i] = code_read(codes, first + (ulong)i * gap, &traffic);
        insertion_local(local_codes, size);
        for (uint i = 0; i < size; ++i)
            code_write(codes, first + (ulong)i * gap, local_codes[i], &traffic);
        if (items > 1) {
            code_write(ends, 2 * group, local_codes[0], &traffic);
            if (size > 1)
                code_write(ends, 2 * group + 1, local_codes[size - 1], &traffic);
        }
    }
    COUNT_GROUP(counts, group, traffic, chunk == 0);
}
