// rings/each.h: the elements of a work-item, and lists that work-items add to. The includer has WG_SIZE and SERIAL.
//
//   EACH(i, n)            group:   work-item 0 takes elements 0, g, 2 g, .. of g work-items in all
//                         serial:  each takes a share of neighbours (CPUs, which have few work-items)
//   EACH_TOGETHER(i, n)   the same for a whole group: i is its first element, work-item `lid` takes i + lid if that is
//                         less than n. All work-items of a group run all of its rounds, so there may be barriers within.
//
// n is less than 2^31.
#if SERIAL
#define SHARE(n) (((n) + (uint)get_global_size(0) - 1) / (uint)get_global_size(0))
#define EACH(i, n)                                                                                      \
    for (uint i##_share = SHARE(n), i = min((uint)get_global_id(0) * i##_share, (uint)(n)),             \
              i##_end = min(i + i##_share, (uint)(n)); i < i##_end; ++i)
#define EACH_TOGETHER(i, n) EACH(i, n)
#else
#define EACH(i, n) for (uint i = get_global_id(0); i < (n); i += (uint)get_global_size(0))
#define EACH_TOGETHER(i, n) for (uint i = get_group_id(0) * WG_SIZE; i < (n); i += (uint)get_global_size(0))
#endif

// A list in memory with its length in `length`; its order is that of the elements only within a group's round, or within a
// part of a share.
//
//   LIST(own)                                        memory of a work-item or group, for one list or two
//   list_add(own, keep, value, list, length, lid)    all work-items of a group call it; those with `keep` add a value
//   list_add_two(..)                                 the same for two lists, which may be one
//   list_end(own, list, length, list, length)        after the last one
#if SERIAL
#define HELD 64
typedef struct {
    uint count, values[HELD];
} list_t;
#define LIST(own)    \
    list_t own[2];   \
    own[0].count = own[1].count = 0

inline void list_empty(list_t *own, global uint *list, volatile global uint *length)
{
    if (own->count == 0)
        return;
    const uint at = atomic_add(length, own->count);
    for (uint k = 0; k < own->count; ++k)
        list[at + k] = own->values[k];
    own->count = 0;
}

inline void list_add(list_t *own, int keep, uint value, global uint *list, volatile global uint *length, uint lid)
{
    if (!keep)
        return;
    own->values[own->count++] = value;
    if (own->count == HELD)
        list_empty(own, list, length);
}

inline void list_add_two(list_t *own, int keep, uint value, global uint *list, volatile global uint *length,
                         int keep_other, uint other, global uint *others, volatile global uint *other_length, uint lid)
{
    list_add(own, keep, value, list, length, lid);
    list_add(own + 1, keep_other, other, others, other_length, lid);
}

inline void list_end(list_t *own, global uint *list, volatile global uint *length, global uint *others,
                     volatile global uint *other_length)
{
    list_empty(own, list, length);
    list_empty(own + 1, others, other_length);
}
#else
#include "group/scan.h"
GROUP_SCAN(list_ranks, local, uint, GROUP_SUM)
#define LIST(own) local uint own[2 * WG_SIZE + 2]

inline void list_add_two(local uint *cells, int keep, uint value, global uint *list, volatile global uint *length,
                         int keep_other, uint other, global uint *others, volatile global uint *other_length, uint lid)
{
    const uint mine = (keep ? 1 : 0) | (keep_other ? 1 << 16 : 0);
    cells[lid] = mine;
    const uint from = list_ranks(cells, WG_SIZE, lid);
    const uint rank = cells[from + lid] - mine;
    if (lid == 0) {
        const uint total = cells[from + WG_SIZE - 1];
        cells[2 * WG_SIZE] = total & 0xffff ? atomic_add(length, total & 0xffff) : 0;
        cells[2 * WG_SIZE + 1] = total >> 16 ? atomic_add(other_length, total >> 16) : 0;
    }
    GROUP_BARRIER();
    if (keep)
        list[cells[2 * WG_SIZE] + (rank & 0xffff)] = value;
    if (keep_other)
        others[cells[2 * WG_SIZE + 1] + (rank >> 16)] = other;
    GROUP_BARRIER();
}

inline void list_add(local uint *cells, int keep, uint value, global uint *list, volatile global uint *length, uint lid)
{
    list_add_two(cells, keep, value, list, length, 0, 0, list, length, lid);
}

inline void list_end(local uint *cells, global uint *list, volatile global uint *length, global uint *others,
                     volatile global uint *other_length)
{
}
#endif
