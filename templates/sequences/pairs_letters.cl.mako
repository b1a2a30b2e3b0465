<%page args="variant='group', wg_size=256, items_per_thread=8"/>\
// pairs_letters: the bits that some word of memory has, and those that every word has.
//
//   words  | g0 g0 g0 .. | g1 g1 .. | .. | g0 ..      each group takes WG_SIZE words, then strides over the groups
//   found  [ or, and ]                                at first 0 and all bits
//
// Reads each word once; two atomic operations for each group.
#define WG_SIZE ${wg_size}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void pairs_letters(global const uint *words, const uint count, global uint *found)
{
    local uint local_found[2];
    const uint lid = get_local_id(0);
    if (lid == 0) {
        local_found[0] = 0;
        local_found[1] = 0xffffffffu;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint some = 0, every = 0xffffffffu;
    for (uint k = get_global_id(0); k < count; k += get_global_size(0)) {
        some |= words[k];
        every &= words[k];
    }
    atomic_or(local_found, some);
    atomic_and(local_found + 1, every);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) {
        atomic_or(found, local_found[0]);
        atomic_and(found + 1, local_found[1]);
    }
}
