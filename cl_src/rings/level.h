// rings/level.h: the corners of one level, map after map.
//
//   before    | 0 16 24 .. n | 0 8 ..  of each level the corners before those of each map, and in all
//   corners   | map 0, level 0 | map 0, level 1 | .. | map 1, level 0 | ..      those of a mask lie together: see rings_facts
#include "batch/batch_find.h"

typedef struct {
    global const uint *before;
    global const ulong *facts;
    uint maps, levels, level;
} level_t;

inline level_t level_of(global const uint *before, global const ulong *facts, uint maps, uint levels, uint level)
{
    return (level_t){before + level * (maps + 1), facts, maps, levels, level};
}

// Corners of the level.
inline uint count_of(const level_t *all)
{
    return all->before[all->maps];
}

// Corner i of the level; `map` is that of the corner that was asked for before, and becomes that of this one.
inline uint corner_of(const level_t *all, uint i, uint *map)
{
    if (i < all->before[*map] || i >= all->before[*map + 1])
        *map = row_of(all->before, 0, all->maps - 1, i);
    return (uint)all->facts[1 + 2 * (*map * all->levels + all->level)] + i - all->before[*map];
}
