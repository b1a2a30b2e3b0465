// rings/each.h: the elements of a work-item, and lists that work-items add to. The includer has WG_SIZE and SERIAL.
//
//   EACH(i, n)            group:   work-item 0 takes elements 0, g, 2 g, .. of g work-items in all
//                         serial:  each takes a share of neighbours (CPUs, which have few work-items)
//   EACH_NEAR(i, n)       the same, but each group has a share of neighbours: for elements whose map is to be found
//   EACH_ROUND(base, n)   group:   rounds of neighbours, element `base` is the first; all work-items of a group run all of its
//                                  rounds, so there may be barriers beside the elements of a round
//                         serial:  a share is one round
//   OF_ROUND(i, base)     the elements of a work-item in a round
//
// Groups take rounds in turn, so that what runs at once is near in memory.
// n is less than 2^31.
#include "group/scan.h"   // GROUP_BARRIER
#if SERIAL
#define SHARE(n) (((n) + (uint)get_global_size(0) - 1) / (uint)get_global_size(0))
#define EACH(i, n)                                                                                      \
    for (uint i##_share = SHARE(n), i = min((uint)get_global_id(0) * i##_share, (uint)(n)),             \
              i##_end = min(i + i##_share, (uint)(n)); i < i##_end; ++i)
#define EACH_ROUND(base, n)                                                                             \
    for (uint base##_share = SHARE(n), base = min((uint)get_global_id(0) * base##_share, (uint)(n)),    \
              base##_end = min(base + base##_share, (uint)(n)); base < base##_end; base = base##_end)
#define OF_ROUND(i, base) for (uint i = base; i < base##_end; ++i)
#define EACH_NEAR(i, n) EACH(i, n)
#else
#ifndef PUTS
#define PUTS 1              // most values that a work-item puts into a list for an element
#endif
#define HELD (4 * WG_SIZE)  // values of a list that a group holds
#define ROUND_SIZE (HELD / PUTS)
#define EACH(i, n) for (uint i = get_global_id(0); i < (n); i += (uint)get_global_size(0))
#define EACH_NEAR(i, n)                                                                                 \
    for (uint i##_share = ((n) + (uint)get_global_size(0) - 1) / (uint)get_global_size(0) * WG_SIZE,    \
              i = get_group_id(0) * i##_share + get_local_id(0),                                        \
              i##_end = min((uint)(get_group_id(0) + 1) * i##_share, (uint)(n)); i < i##_end; i += WG_SIZE)
#define EACH_ROUND(base, n)                                                                             \
    for (uint base = get_group_id(0) * ROUND_SIZE, base##_all = (n); base < base##_all;                 \
         base += (uint)get_num_groups(0) * ROUND_SIZE)
#define OF_ROUND(i, base)                                                                               \
    for (uint i = base + get_local_id(0), i##_end = min(base + ROUND_SIZE, base##_all); i < i##_end; i += WG_SIZE)
#endif

// A list in memory with its length in `length`. Values are held back and written many at once; their order is that of the
// elements only in parts.
//
//   LIST(own, list, length)      memory of a work-item or group for what is held
//   list_put(&own, keep, value)  adds a value if `keep` is true
//   list_next(&own, lid)         ends a round
//   lists_next(&own, &other, lid)   ends a round of two lists
//   list_end(&own, lid)          after the last one
#if SERIAL
#define HELD 64
typedef struct {
    global uint *list;
    volatile global uint *length;
    uint count, values[HELD];
} list_t;
#define LIST(own, list, length) list_t own = {list, length, 0}

inline void list_end(list_t *own, uint lid)
{
    if (own->count == 0)
        return;
    const uint at = atomic_add(own->length, own->count);
    for (uint k = 0; k < own->count; ++k)
        own->list[at + k] = own->values[k];
    own->count = 0;
}

inline void list_put(list_t *own, int keep, uint value)
{
    if (!keep)
        return;
    own->values[own->count++] = value;
    if (own->count == HELD)
        list_end(own, 0);
}

inline void list_next(list_t *own, uint lid)
{
}

inline void lists_next(list_t *own, list_t *other, uint lid)
{
}
#else
typedef struct {
    global uint *list;
    volatile global uint *length;
    local uint *count, *values;
} list_t;
#define LIST(own, list, length)                             \
    local uint own##_count[2], own##_values[HELD];          \
    list_t own = {list, length, own##_count, own##_values}; \
    if (get_local_id(0) == 0)                               \
        own##_count[0] = 0;                                 \
    GROUP_BARRIER()

inline void list_put(list_t *own, int keep, uint value)
{
    if (keep)
        own->values[atomic_add(own->count, 1u)] = value;
}

// Room in memory for what is held, which one work-item takes.
inline void list_room(list_t *own, int is_taker, uint count)
{
    if (is_taker && count > 0)
        own->count[1] = atomic_add(own->length, count);
}

inline void list_write(list_t *own, uint lid, uint count)
{
    for (uint k = lid; k < count; k += WG_SIZE)
        own->list[own->count[1] + k] = own->values[k];
    if (lid == 0)
        own->count[0] = 0;
}

inline void list_next(list_t *own, uint lid)
{
    GROUP_BARRIER();
    const uint count = own->count[0];
    list_room(own, lid == 0, count);
    GROUP_BARRIER();
    list_write(own, lid, count);
    GROUP_BARRIER();
}

// The two work-items that take room do not wait for each other.
inline void lists_next(list_t *own, list_t *other, uint lid)
{
    GROUP_BARRIER();
    const uint count = own->count[0], others = other->count[0];
    list_room(own, lid == 0, count);
    list_room(other, lid == WG_SIZE - 1, others);
    GROUP_BARRIER();
    list_write(own, lid, count);
    list_write(other, lid, others);
    GROUP_BARRIER();
}

inline void list_end(list_t *own, uint lid)
{
}
#endif
