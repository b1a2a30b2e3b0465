// rings/level.h: the corners of one level, map after map.
//
//   before    | 0 16 24 .. | n         its corners before those of each map, and in all
//   corners   | map 0, level 0 | map 0, level 1 | .. | map 1, level 0 | ..      those of a mask lie together: see rings_facts
#include "batch/batch_find.h"

typedef struct {
    global const uint *before;
    global const ulong *facts;
    uint maps, levels, level;
} level_t;

// Corner i of the level; `map` is that of the corner that was asked for before, and becomes that of this one.
inline uint corner_of(const level_t *all, uint i, uint *map)
{
    if (i < all->before[*map] || i >= all->before[*map + 1])
        *map = row_of(all->before, 0, all->maps - 1, i);
    return (uint)all->facts[1 + 2 * (*map * all->levels + all->level)] + i - all->before[*map];
}
