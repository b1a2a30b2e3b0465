// rings/sums.h: what work-items have found of maps, put together before it goes to the words of maps in memory.
//
//   sums_t {state, mask_of, facts, levels, &round}   where maps and their words are; `round` is GROUP_MEMORY
//   sums_begin(&own, vertex, lid)        begins a round, most of whose vertices are of this one's map; a barrier follows for
//                                        groups
//   sums_map(&own, vertex)               the map of a vertex
//   sums_limit(&own, map)                the limit of a map, plus 1
//   sums_wait(&own, map, key)            a key of a map is not below its limit
//   sums_gone(&own, map, area)           a vertex has gone; its key, with LAST if that was set
//   sums_end(&own, lid)                  ends a round; groups have met at a barrier since the last of the others
//
// A group has a round's map in local memory; others go to memory one by one. A serial work-item has the map of its last one.
#include "rings/state.h"

#define SMALL (1u << 20)   // larger areas go to memory one by one: the sums of a round must fit
#define NO_MAP 0xffffffffu

typedef struct {
    uint map, first, vertices;   // of the mask: the level's corners of the map
    uint beyond, pending, counts, added;   // counts: of vertices, and from bit 16 on of those that are their hole's last
} round_t;

typedef struct {
    volatile global uint *state;
    global const uint *mask_of;
    global const ulong *facts;
    uint levels;
    GROUP_MEMORY round_t *round;
} sums_t;

inline volatile global uint *words_of(const sums_t *own, uint map)
{
    return own->state + MAPS + MAP_WORDS * map;
}

inline void wait_in_memory(const sums_t *own, uint map, uint key)
{
    volatile global uint *const least = words_of(own, map) + PENDING;
    if (*least > key)   // it only falls
        atomic_min(least, key);
}

inline void gone_in_memory(const sums_t *own, uint map, uint counts, uint added)
{
    volatile global uint *const words = words_of(own, map);
    const uint removals = counts & 0xffff;
    atomic_add(&words[REMOVALS], removals);
    atomic_add(&words[GONE], removals + 2 * (counts >> 16));   // two more vertices of a hole that is filled
    if (added > 0 && atomic_add(&words[ADDED], added) > 0xffffffffu - added)
        atomic_inc(&words[ADDED + 1]);
}

inline uint count_of_gone(uint area)
{
    return area & LAST ? 0x10001 : 1;
}

inline void sums_end(const sums_t *own, uint lid)
{
    GROUP_MEMORY round_t *const round = own->round;
    if (lid > 0 || round->map == NO_MAP)
        return;
    if (round->pending != NEVER)
        wait_in_memory(own, round->map, round->pending);
    if (round->counts > 0)
        gone_in_memory(own, round->map, round->counts, round->added);
    round->map = NO_MAP;
}

inline void sums_begin(const sums_t *own, uint vertex, uint lid)
{
    if (lid > 0)
        return;
    GROUP_MEMORY round_t *const round = own->round;
    const uint mask = own->mask_of[vertex];
    round->map = mask / own->levels;
    round->first = (uint)own->facts[1 + 2 * mask];
    round->vertices = (uint)own->facts[3 + 2 * mask] - round->first;
    round->beyond = words_of(own, round->map)[BEYOND];
    round->pending = NEVER;
    round->counts = round->added = 0;
}

#if SERIAL
inline uint sums_map(const sums_t *own, uint vertex)
{
    if (vertex - own->round->first >= own->round->vertices) {
        sums_end(own, 0);
        sums_begin(own, vertex, 0);
    }
    return own->round->map;
}

inline uint sums_limit(const sums_t *own, uint map)
{
    return own->round->beyond;
}

inline void sums_wait(const sums_t *own, uint map, uint key)
{
    if (map != own->round->map)
        wait_in_memory(own, map, key);
    else
        own->round->pending = min(own->round->pending, key);
}

inline void sums_gone(const sums_t *own, uint map, uint area)
{
    round_t *const round = own->round;
    if (map != round->map) {
        gone_in_memory(own, map, count_of_gone(area), area & ~LAST);
        return;
    }
    if (round->added >= SMALL || (area & ~LAST) >= SMALL || (round->counts & 0xffff) == 0xffff) {
        gone_in_memory(own, map, round->counts, round->added);
        round->counts = round->added = 0;
    }
    round->counts += count_of_gone(area);
    round->added += area & ~LAST;
}
#else
inline uint sums_map(const sums_t *own, uint vertex)
{
    return vertex - own->round->first < own->round->vertices ? own->round->map : own->mask_of[vertex] / own->levels;
}

inline uint sums_limit(const sums_t *own, uint map)
{
    return map == own->round->map ? own->round->beyond : words_of(own, map)[BEYOND];
}

inline void sums_wait(const sums_t *own, uint map, uint key)
{
    if (map != own->round->map)
        wait_in_memory(own, map, key);
    else if (own->round->pending > key)   // it only falls
        atomic_min(&own->round->pending, key);
}

inline void sums_gone(const sums_t *own, uint map, uint area)
{
    if (map != own->round->map || (area & ~LAST) >= SMALL) {
        gone_in_memory(own, map, count_of_gone(area), area & ~LAST);
    } else {
        atomic_add(&own->round->counts, count_of_gone(area));
        atomic_add(&own->round->added, area & ~LAST);
    }
}
#endif
