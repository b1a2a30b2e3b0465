// rings/sums.h: what work-items have found of maps, put together before it goes to the words of maps in memory.
//
//   SUMS(own)                            memory of a work-item or group
//   sums_begin(own, state, map, lid)     begins a round, most of whose vertices are of `map`; a barrier follows for groups
//   sums_limit(own, state, map)          the limit of a map, plus 1
//   sums_wait(own, state, map, key)      a key of a map is not below its limit
//   sums_gone(own, state, map, area)     a vertex has gone; see outward_choose for its area
//   sums_end(own, state, lid)            ends a round; groups have met at a barrier since the last of the others
//
// A group has a round's map in local memory; others go to memory one by one. A serial work-item has the map of its last one.
#include "rings/state.h"

typedef struct {
    uint map, beyond, pending, gone, removals, added;
} sums_t;
#define SMALL (1u << 20)   // larger areas go to memory one by one: the sums of a round must fit
#define NO_MAP 0xffffffffu

inline void wait_in_memory(volatile global uint *state, uint map, uint key)
{
    volatile global uint *const least = state + MAPS + MAP_WORDS * map + PENDING;
    if (*least > key)   // it only falls
        atomic_min(least, key);
}

inline void gone_in_memory(volatile global uint *state, uint map, uint removals, uint gone, uint added)
{
    volatile global uint *const words = state + MAPS + MAP_WORDS * map;
    atomic_add(&words[REMOVALS], removals);
    atomic_add(&words[GONE], gone);
    if (added > 0 && atomic_add(&words[ADDED], added) > 0xffffffffu - added)
        atomic_inc(&words[ADDED + 1]);
}

inline uint gone_with(uint area)
{
    return area & LAST ? 3 : 1;
}

#if SERIAL
#define SUMS_MEMORY private
#define SUMS(own) \
    sums_t own##_memory = {NO_MAP, 0, NEVER, 0, 0, 0}, *const own = &own##_memory
#else
#define SUMS_MEMORY local
#define SUMS(own)              \
    local sums_t own##_memory; \
    local sums_t *const own = &own##_memory
#endif

inline void sums_end(SUMS_MEMORY sums_t *own, volatile global uint *state, uint lid)
{
    if (lid > 0 || own->map == NO_MAP)
        return;
    if (own->pending != NEVER)
        wait_in_memory(state, own->map, own->pending);
    if (own->removals > 0)
        gone_in_memory(state, own->map, own->removals, own->gone, own->added);
    own->map = NO_MAP;
}

inline void sums_begin(SUMS_MEMORY sums_t *own, volatile global uint *state, uint map, uint lid)
{
    if (lid > 0)
        return;
    own->map = map;
    own->beyond = state[MAPS + MAP_WORDS * map + BEYOND];
    own->pending = NEVER;
    own->gone = own->removals = own->added = 0;
}

#if SERIAL
inline void sums_turn(sums_t *own, volatile global uint *state, uint map)
{
    if (own->map == map)
        return;
    sums_end(own, state, 0);
    sums_begin(own, state, map, 0);
}

inline uint sums_limit(sums_t *own, volatile global uint *state, uint map)
{
    sums_turn(own, state, map);
    return own->beyond;
}

inline void sums_wait(sums_t *own, volatile global uint *state, uint map, uint key)
{
    own->pending = min(own->pending, key);
}

inline void sums_gone(sums_t *own, volatile global uint *state, uint map, uint area)
{
    sums_turn(own, state, map);
    if (own->added >= SMALL || (area & ~LAST) >= SMALL) {
        gone_in_memory(state, map, own->removals, own->gone, own->added);
        own->removals = own->gone = own->added = 0;
    }
    own->removals += 1;
    own->gone += gone_with(area);
    own->added += area & ~LAST;
}
#else
inline uint sums_limit(local sums_t *own, volatile global uint *state, uint map)
{
    return map == own->map ? own->beyond : state[MAPS + MAP_WORDS * map + BEYOND];
}

inline void sums_wait(local sums_t *own, volatile global uint *state, uint map, uint key)
{
    if (map != own->map)
        wait_in_memory(state, map, key);
    else if (own->pending > key)   // it only falls
        atomic_min(&own->pending, key);
}

inline void sums_gone(local sums_t *own, volatile global uint *state, uint map, uint area)
{
    if (map != own->map || (area & ~LAST) >= SMALL) {
        gone_in_memory(state, map, 1, gone_with(area), area & ~LAST);
    } else {
        atomic_add(&own->removals, 1u);
        atomic_add(&own->gone, gone_with(area));
        atomic_add(&own->added, area & ~LAST);
    }
}
#endif
