<%page args="code_bits=32, counting=False, exchanges=1, resting=0, variant='group', wg_size=64, items_per_thread=1"/>\
// shell_d: shell_b made a full sort: chunks that touch exchange end elements until nothing changes.
//
//   pass     | sort chunk 0 | sort chunk 1 | sort chunk 2 | ..       every item its own chunk
//                        largest > smallest?                         pairs 0-1, 2-3 ..; then 1-2, 3-4 ..
//                        swap, and pass again
//
// A work-group holds a whole h-subsequence, so all of a phase is one launch. Pairs go in two steps, because a chunk of
// one element is both ends at once. The insertion keeps the largest element in a register: fewest reads and writes.
#define WG_SIZE ${wg_size}
typedef ${"uint" if code_bits == 32 else "ulong"} code_t;
#define COUNTING ${int(counting)}
#include "keys/shell_chunk.h"
% if resting:

// A chunk without an exchange since its last sort is still sorted: its item rests. SORTED: in this pass; AWAKE: must sort.
#define AWAKE 1
#define SORTED 2
% endif

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void shell_d(global code_t *codes, const uint n, const uint gap, const uint items, global ulong *counts)
{
    local uint local_changed;
% if resting:
    local uchar local_states[${resting}];   // only the item of a chunk, or of a pair of chunks, writes its state
% endif
    const uint lid = get_local_id(0), subsequence = get_group_id(0);
    const uint rows = subsequence_rows(n, gap, subsequence), chunks = min(items, rows);
    traffic_t traffic = {0, 0};
    uint passes = 0, again = 1;
% if resting:
    for (uint chunk = lid; chunk < chunks; chunk += WG_SIZE)
        local_states[chunk] = AWAKE;
% endif
    while (again) {
        if (lid == 0)
            local_changed = 0;
        for (uint chunk = lid; chunk < chunks; chunk += WG_SIZE) {
% if resting:
            local_states[chunk] = local_states[chunk] & AWAKE ? SORTED : 0;
            if (local_states[chunk] == 0)
                continue;
% endif
            const uint begin = chunk_begin(rows, chunks, chunk), end = chunk_begin(rows, chunks, chunk + 1);
            insertion_carrying(codes, subsequence + (ulong)begin * gap, gap, end - begin, &traffic);
        }
        ++passes;
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        for (uint parity = 0; parity < 2; ++parity) {
            for (uint chunk = parity + 2 * lid; chunk + 1 < chunks; chunk += 2 * WG_SIZE) {
% if resting:
                if ((local_states[chunk] | local_states[chunk + 1]) == 0)
                    continue;
% endif
                const ulong smallest = subsequence + (ulong)chunk_begin(rows, chunks, chunk + 1) * gap;
% if exchanges > 1:
                const uint begin = chunk_begin(rows, chunks, chunk), middle = chunk_begin(rows, chunks, chunk + 1);
                const uint end = chunk_begin(rows, chunks, chunk + 2);
                const uint most = min(${exchanges}u, min(middle - begin, end - middle));
                for (uint k = 0; k < most; ++k) {
                    const ulong at = smallest + (ulong)k * gap, before = smallest - (ulong)(k + 1) * gap;
                    const code_t left = code_read(codes, before, &traffic);
                    const code_t right = code_read(codes, at, &traffic);
                    if (left <= right)
                        break;
                    code_write(codes, before, right, &traffic);
                    code_write(codes, at, left, &traffic);
                    local_changed = 1;
% if resting:
                    local_states[chunk] |= AWAKE;
                    local_states[chunk + 1] |= AWAKE;
% endif
                }
% else:
                const code_t left = code_read(codes, smallest - gap, &traffic);
                const code_t right = code_read(codes, smallest, &traffic);
                if (left > right) {
                    code_write(codes, smallest - gap, right, &traffic);
                    code_write(codes, smallest, left, &traffic);
                    local_changed = 1;
% if resting:
                    local_states[chunk] |= AWAKE;
                    local_states[chunk + 1] |= AWAKE;
% endif
                }
% endif
            }
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        }
        again = local_changed;
        barrier(CLK_LOCAL_MEM_FENCE);   // all have read local_changed before it is cleared
    }
    COUNT_GROUP(counts, subsequence, traffic, passes);
}
