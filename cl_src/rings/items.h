// rings/items.h: the elements of a work-item, and lists that work-items add to. The includer has WG_SIZE and SERIAL.
//
//   items_of(n)             group:   work-item 0 takes elements 0, g, 2 g, .. of g work-items in all
//                           serial:  each takes a share of neighbours (CPUs, which have few work-items)
//   near_items_of(n)        the same, but each group has a share of neighbours: for elements whose map is to be found
//   rounds_of(n)            group:   rounds of neighbours, by their first element; all work-items of a group run all of
//                                    its rounds, so there may be barriers beside the elements of a round
//                           serial:  a share is one round
//   items_of_round(&rounds, base)   the elements of a work-item in the round from `base` on
//
// Loops are  for (uint i = items.begin; i < items.end; i += items.stride).
// Groups take rounds in turn, so that what runs at once is near in memory.
// n is less than 2^31.
#include "group/scan.h"   // GROUP_BARRIER
#if SERIAL
#define GROUP_MEMORY private   // memory of a group, or of a work-item that is one
#define HELD 64                // values of a list that are held back
#else
#define GROUP_MEMORY local
#ifndef PUTS
#define PUTS 1                 // most values that a work-item puts into a list for an element
#endif
#define HELD (4 * WG_SIZE)
#define ROUND_SIZE (HELD / PUTS)
#endif

typedef struct {
    uint begin, end, stride;
} range_t;

#if SERIAL
inline range_t items_of(uint n)
{
    const uint share = (n + (uint)get_global_size(0) - 1) / (uint)get_global_size(0);
    const uint begin = min((uint)get_global_id(0) * share, n);
    return (range_t){begin, min(begin + share, n), 1};
}

inline range_t near_items_of(uint n)
{
    return items_of(n);
}

inline range_t rounds_of(uint n)
{
    const range_t items = items_of(n);
    return (range_t){items.begin, items.end, max(items.end - items.begin, 1u)};
}

inline range_t items_of_round(const range_t *rounds, uint base)
{
    return (range_t){base, rounds->end, 1};
}
#else
inline range_t items_of(uint n)
{
    return (range_t){get_global_id(0), n, get_global_size(0)};
}

inline range_t near_items_of(uint n)
{
    const uint share = (n + (uint)get_global_size(0) - 1) / (uint)get_global_size(0) * WG_SIZE;
    const uint begin = get_group_id(0) * share;
    return (range_t){begin + get_local_id(0), min(begin + share, n), WG_SIZE};
}

inline range_t rounds_of(uint n)
{
    return (range_t){get_group_id(0) * ROUND_SIZE, n, get_num_groups(0) * ROUND_SIZE};
}

inline range_t items_of_round(const range_t *rounds, uint base)
{
    return (range_t){base + get_local_id(0), min(base + ROUND_SIZE, rounds->end), WG_SIZE};
}
#endif

// A list in memory with its length in `length`. Values are held back and written many at once; their order is that of the
// elements only in parts.
//
//   list_of(list, length, &held)    the list; `held` is GROUP_MEMORY for the values that are held back
//   list_put(&own, keep, value)     adds a value if `keep` is true
//   list_next(&own, lid)            ends a round
//   lists_next(&own, &other, lid)   ends a round of two lists
//   list_end(&own, lid)             after the last one
typedef struct {
    uint count, room;               // values, and where they go in the list
    uint values[HELD];
} held_t;

typedef struct {
    global uint *list;
    volatile global uint *length;
    GROUP_MEMORY held_t *held;
} list_t;

inline list_t list_of(global uint *list, volatile global uint *length, GROUP_MEMORY held_t *held)
{
    if (SERIAL || get_local_id(0) == 0)
        held->count = 0;
    GROUP_BARRIER();
    return (list_t){list, length, held};
}

#if SERIAL
inline void list_end(list_t *own, uint lid)
{
    if (own->held->count == 0)
        return;
    const uint at = atomic_add(own->length, own->held->count);
    for (uint k = 0; k < own->held->count; ++k)
        own->list[at + k] = own->held->values[k];
    own->held->count = 0;
}

inline void list_put(list_t *own, int keep, uint value)
{
    if (!keep)
        return;
    own->held->values[own->held->count++] = value;
    if (own->held->count == HELD)
        list_end(own, 0);
}

inline void list_next(list_t *own, uint lid)
{
}

inline void lists_next(list_t *own, list_t *other, uint lid)
{
}
#else
inline void list_put(list_t *own, int keep, uint value)
{
    if (keep)
        own->held->values[atomic_add(&own->held->count, 1u)] = value;
}

// Room in memory for what is held, which one work-item takes.
inline void list_room(list_t *own, int is_taker, uint count)
{
    if (is_taker && count > 0)
        own->held->room = atomic_add(own->length, count);
}

inline void list_write(list_t *own, uint lid, uint count)
{
    for (uint k = lid; k < count; k += WG_SIZE)
        own->list[own->held->room + k] = own->held->values[k];
    if (lid == 0)
        own->held->count = 0;
}

inline void list_next(list_t *own, uint lid)
{
    GROUP_BARRIER();
    const uint count = own->held->count;
    list_room(own, lid == 0, count);
    GROUP_BARRIER();
    list_write(own, lid, count);
    GROUP_BARRIER();
}

// The two work-items that take room do not wait for each other.
inline void lists_next(list_t *own, list_t *other, uint lid)
{
    GROUP_BARRIER();
    const uint count = own->held->count, others = other->held->count;
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
