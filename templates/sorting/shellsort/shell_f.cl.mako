<%page args="code_bits=32, counting=False, capacity=64, variant='group', wg_size=64, items_per_thread=1"/>\
// shell_f: "resident segments". A work-group keeps a segment of an h-subsequence in local memory until it is in order.
//
//   h-subseq.    [ segment 0            | segment 1            | .. ]   as many rows as local memory holds
//   local        [ chunk | chunk | ..   ]                               the passes of shell_d, all in local memory
//   ends         | smallest, largest    | smallest, largest    | ..     one pair a segment, in global memory
//
// Only the ends of segments are exchanged through global memory, as in shell_e. An h-subsequence that fits is one segment:
// its phase is one launch that reads and writes every key once. A full sort.
#define WG_SIZE ${wg_size}
#define CAPACITY ${capacity}   // elements of a segment at most
typedef ${"uint" if code_bits == 32 else "ulong"} code_t;
#define COUNTING ${int(counting)}
#include "keys/shell_chunk.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void shell_f(global code_t *codes, const uint n, const uint gap, const uint items, const uint segments,
             const uint again, global code_t *ends, global ulong *counts)
{
    local code_t local_codes[CAPACITY];
    local uint local_changed;
    const uint lid = get_local_id(0);
    const ulong group = get_group_id(0);
    const uint subsequence = group / segments, segment = group % segments;
    const uint rows = subsequence_rows(n, gap, subsequence), parts = min(segments, rows);
    // A segment beyond the rows of a short h-subsequence is empty; its group makes one pass without effect.
    const uint begin = segment < parts ? chunk_begin(rows, parts, segment) : 0;
    const uint size = segment < parts ? chunk_begin(rows, parts, segment + 1) - begin : 0;
    const uint chunks = min(items, size);
    const ulong first = subsequence + (ulong)begin * gap;
    traffic_t traffic = {0, 0};
    for (uint i = lid; i < size; i += WG_SIZE)
        if (again && (i == 0 || i + 1 == size))
            local_codes[i] = code_read(ends, 2 * group + (i > 0), &traffic);
        else
            local_codes[i] = code_read(codes, first + (ulong)i * gap, &traffic);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint passes = 0, repeat = 1;
    while (repeat) {
        if (lid == 0)
            local_changed = 0;
        for (uint chunk = lid; chunk < chunks; chunk += WG_SIZE) {
            const uint from = chunk_begin(size, chunks, chunk), to = chunk_begin(size, chunks, chunk + 1);
            insertion_local(local_codes + from, to - from);
        }
        ++passes;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint parity = 0; parity < 2; ++parity) {
            for (uint chunk = parity + 2 * lid; chunk + 1 < chunks; chunk += 2 * WG_SIZE) {
                const uint smallest = chunk_begin(size, chunks, chunk + 1);
                const code_t left = local_codes[smallest - 1], right = local_codes[smallest];
                if (left > right) {
                    local_codes[smallest - 1] = right;
                    local_codes[smallest] = left;
                    local_changed = 1;
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        repeat = local_changed;
        barrier(CLK_LOCAL_MEM_FENCE);   // all have read local_changed before it is cleared
    }
    for (uint i = lid; i < size; i += WG_SIZE) {
        code_write(codes, first + (ulong)i * gap, local_codes[i], &traffic);
        if (segments > 1 && (i == 0 || i + 1 == size))
            code_write(ends, 2 * group + (i > 0), local_codes[i], &traffic);
    }
    COUNT_GROUP(counts, group, traffic, size ? passes : 0);
}
