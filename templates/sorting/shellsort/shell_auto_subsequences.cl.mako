<%page args="code_bits=32, stage='sort', block=8, variant='group', wg_size=64, items_per_thread=1"/>\
// shell_auto_subsequences: sorts whole h-subsequences of one gap in place, or blocks of their rows.
//
//   codes    | s0 s1 s2 .. | s0 s1 s2 .. | ..      rows of `gap` elements; s is in h-subsequence s
//   items    one a block of an h-subsequence: rows offset + block * BLOCK on, in registers; neighbours take neighbouring
//            h-subsequences
//
// stage "sort": a sorting network for all BLOCK rows. With rows <= BLOCK that is the whole pass.
// stage "merge": merges the ordered halves of a block, unless they are in order together, and sets changed to `round`
// if it merged. Launches with offsets 0 and BLOCK / 2 in turn, until neither changes anything, sort h-subsequences of
// any length (the fallback for gaps without a known bound).
// Reads and writes every element once.
typedef ${"uint" if code_bits == 32 else "ulong"} code_t;
#define WG_SIZE ${wg_size}
#define BLOCK ${block}
#define LAST_CODE (~(code_t)0)   // code of rows beyond the end
#include "portable.h"
#include "keys/shell_network.h"
#if BLOCK <= 32
#define SHELL_NARROW CLGEOM_NARROW
#else
#define SHELL_NARROW             // keys of a work-item do not fit in either
#endif

inline void load_block(global const code_t *codes, ulong n, ulong first, uint gap, code_t *k)
{
% for i in range(block):
    k[${i}] = first + (ulong)${i} * gap < n ? codes[first + (ulong)${i} * gap] : LAST_CODE;
% endfor
}

inline void store_block(const code_t *k, ulong n, ulong first, uint gap, global code_t *codes)
{
% for i in range(block):
    if (first + (ulong)${i} * gap < n)
        codes[first + (ulong)${i} * gap] = k[${i}];
% endfor
}

kernel SHELL_NARROW __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void shell_auto_subsequences(global code_t *codes, const uint n, const uint gap, const uint offset, const uint round,
                             global uint *changed)
{
    const uint item = get_global_id(0);   // of less than n + gap
    const ulong first = ((ulong)(item / gap) * BLOCK + offset) * gap + item % gap;
% if stage == "merge":
    const ulong middle = first + (ulong)(BLOCK / 2) * gap;
    if (middle >= n || codes[middle - gap] <= codes[middle])
        return;
    *changed = round;
% endif
    code_t k[BLOCK];
    load_block(codes, n, first, gap, k);
    ${f"MERGE_{block}(k, 0, 1)" if stage == "merge" else f"SORT_{block}(k, 0)"}
    store_block(k, n, first, gap, codes);
}
