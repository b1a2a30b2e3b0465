// classes/walk.h: lines between classes, followed from corner to corner through masks of a raster, which caches of CPUs hold.
//
//   o------>o      a walk goes along a line or down a column to the next corner, or back: to the left, or up. At every bend
//           |      it turns into the other side that the bend has. `active` has a bit for each bend or node, see
//           v      classes/lines.h.
typedef struct {
    uint x, y;
    int is_back;
} walk_t;

inline int is_in(global const uint *masks, const walk_t *walk, uint words)
{
    return masks[walk->y * words + walk->x / 32] >> walk->x % 32 & 1;
}

inline void go_along(walk_t *walk, global const uint *active, uint words)
{
    const uint bit = walk->x % 32;
    uint at = walk->y * words + walk->x / 32, rest = active[at] & (walk->is_back ? (1u << bit) - 1 : 0xfffffffeu << bit);
    const uint first = at;
    while (!rest)
        rest = active[walk->is_back ? --at : ++at];
    walk->x += 32 * (at - first) + (walk->is_back ? highest_bit(rest) : lowest_bit(rest)) - bit;
}

inline void go_down(walk_t *walk, global const uint *active, uint words)
{
    const uint step = walk->is_back ? -1 : 1;
    do
        walk->y += step;
    while (!is_in(active, walk, words));
}

inline void turn_along(walk_t *walk, global const uint4 *planes, uint words)
{
    const uint2 right = planes[walk->y * words + walk->x / 32].zw;
    walk->is_back = !((right.x | right.y) >> walk->x % 32 & 1);
}

inline void turn_down(walk_t *walk, global const uint4 *planes, uint words)
{
    const uint2 below = planes[walk->y * words + walk->x / 32].xy;
    walk->is_back = !((below.x | below.y) >> walk->x % 32 & 1);
}
