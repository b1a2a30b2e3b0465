// rings/each.h: the elements of a work-item, and lists that work-items add to. The includer has WG_SIZE and SERIAL.
//
//   EACH(i, n)            group:   work-item 0 takes elements 0, g, 2 g, .. of g work-items in all
//                         serial:  each takes a share of neighbours (CPUs, which have few work-items)
//   EACH_ROUND(base, n)   a group takes a share of neighbours, in rounds; all of its work-items run all rounds, so there
//                         may be barriers after the elements of a round
//   OF_ROUND(i, base)     the elements of a work-item in a round
//
// n is less than 2^31.
#if SERIAL
#define SHARE(n) (((n) + (uint)get_global_size(0) - 1) / (uint)get_global_size(0))
#define EACH(i, n)                                                                                      \
    for (uint i##_share = SHARE(n), i = min((uint)get_global_id(0) * i##_share, (uint)(n)),             \
              i##_end = min(i + i##_share, (uint)(n)); i < i##_end; ++i)
#define EACH_ROUND(base, n)                                                                             \
    for (uint base##_share = SHARE(n), base = min((uint)get_global_id(0) * base##_share, (uint)(n)),    \
              base##_end = min(base + base##_share, (uint)(n)); base < base##_end; base = base##_end)
#define OF_ROUND(i, base) for (uint i = base; i < base##_end; ++i)
#else
#ifndef PUTS
#define PUTS 1              // most values that a work-item puts into a list for an element
#endif
#define HELD (4 * WG_SIZE)  // values of a list that a group holds
#define ROUND (HELD / PUTS)
#define SHARE(n) ((((n) + ROUND - 1) / ROUND + (uint)get_num_groups(0) - 1) / (uint)get_num_groups(0) * ROUND)
#define EACH(i, n) for (uint i = get_global_id(0); i < (n); i += (uint)get_global_size(0))
#define EACH_ROUND(base, n)                                                                             \
    for (uint base##_share = SHARE(n), base = min((ulong)get_group_id(0) * base##_share, (ulong)(n)),   \
              base##_end = min(base + base##_share, (uint)(n)); base < base##_end; base += ROUND)
#define OF_ROUND(i, base)                                                                               \
    for (uint i = base + get_local_id(0); i < min(base + ROUND, base##_end); i += WG_SIZE)
#endif

// A list in memory with its length in `length`. Values are held back and written many at once; their order is that of the
// elements only in parts.
//
//   LIST(own, list, length)      memory of a work-item or group for what is held
//   list_put(&own, keep, value)  adds a value if `keep` is true
//   list_next(&own, lid)         ends a round
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
#else
typedef struct {
    global uint *list;
    volatile global uint *length;
    local uint *count, *values;
} list_t;
#define LIST(own, list, length)                     \
    local uint own##_count[2], own##_values[HELD];  \
    list_t own = {list, length, own##_count, own##_values}; \
    if (get_local_id(0) == 0)                       \
        own##_count[0] = 0;                         \
    barrier(CLK_LOCAL_MEM_FENCE)

inline void list_put(list_t *own, int keep, uint value)
{
    if (keep)
        own->values[atomic_add(own->count, 1u)] = value;
}

inline void list_next(list_t *own, uint lid)
{
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint count = own->count[0];
    if (lid == 0 && count > 0)
        own->count[1] = atomic_add(own->length, count);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = lid; k < count; k += WG_SIZE)
        own->list[own->count[1] + k] = own->values[k];
    if (lid == 0)
        own->count[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
}

inline void list_end(list_t *own, uint lid)
{
}
#endif
