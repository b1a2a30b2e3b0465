// hood/hood_tile.h: the hoods of a tile of points in any order, by one work-item. The includer has geometry/orient2d.h,
// KEEP_COLLINEAR, hood/hood.h, TILE, and
//
//   tile_t         x, y, order, hoods: local memory for TILE coordinates, TILE indices, and two hoods of TILE indices
//   TILE_ID(t, k)  the id of point k
#include "hood/chain.h"
#include "geometry/diagonals.h"

#define TILE_POINT(t, k) ((point_t)((t).x[k], (t).y[k]))
// Whether point a comes before point b by x, y and id.
#define TILE_BEFORE(t, a, b) CLGEOM_BEFORE((t).x[a], (t).y[a], (t).x[b], (t).y[b], TILE_ID(t, a) < TILE_ID(t, b))

// Writes to `order` the indices of all points except those strictly inside the box between the outermost points on the
// diagonals, which lies in the hull; returns their number.
inline uint item_unboxed(const tile_t tile, uint count)
{
    diagonals_t outer = no_diagonals();
    for (uint i = 0; i < count; ++i)
        diagonals_take(&outer, (float)tile.x[i], (float)tile.y[i], TILE_POINT(tile, i));
    const box_t box = box_between(&outer);
    uint rest = 0;
    for (uint i = 0; i < count; ++i) {
        tile.order[rest] = i;
        rest += !(box.is_known & (tile.x[i] > box.left) & (tile.x[i] < box.right) & (tile.y[i] > box.bottom) &
                  (tile.y[i] < box.top));
    }
    return rest;
}

// Whether point a comes before point b: without a branch unless their x are equal, because a CPU mispredicts those.
#define BEFORE(t, a, b) ((t).x[a] == (t).x[b] ? TILE_BEFORE(t, a, b) : (t).x[a] < (t).x[b])

// Sorts the first `count` indices in `order`: by insertion within runs of 8, then by merging runs two by two. Overwrites
// `hoods`.
inline void item_sort(const tile_t tile, uint count)
{
    local ushort *from = tile.order, *to = tile.hoods;
    for (uint run = 0; run < count; run += 8)
        for (uint i = run + 1; i < min(run + 8, count); ++i) {
            const ushort moved = from[i];
            uint k = i;
            for (; k > run && BEFORE(tile, moved, from[k - 1]); --k)
                from[k] = from[k - 1];
            from[k] = moved;
        }
    for (uint width = 8; width < count; width *= 2) {
        for (uint base = 0; base < count; base += 2 * width) {
            const uint middle = min(base + width, count), end = min(base + 2 * width, count);
            uint a = base, b = middle, k = base;
            while (a < middle && b < end) {
                const ushort left = from[a], right = from[b];
                const real_t lx = tile.x[left], rx = tile.x[right];
                uint later = rx < lx;
                if (rx == lx)
                    later = TILE_BEFORE(tile, right, left);
                to[k++] = later ? right : left;
                b += later;
                a += !later;
            }
            while (a < middle)
                to[k++] = from[a++];
            while (b < end)
                to[k++] = from[b++];
        }
        local ushort *const swap = from;
        from = to;
        to = swap;
    }
    if (from != tile.order)
        for (uint i = 0; i < count; ++i)
            tile.order[i] = from[i];
}

// Writes the indices of the corners of a side, from left to right, to its part of `hoods`; returns their number.
inline uint item_hood(const tile_t tile, uint count, uint side)
{
    local ushort *hood = tile.hoods + side * TILE;
#define HOOD_CORNER(k) TILE_POINT(tile, hood[k])
    stack_t stack = {0, 0, 0};
    for (uint i = 0; i < count; ++i) {
        const uint at = tile.order[i];
        const point_t p = TILE_POINT(tile, at);
        if (chain_has(&stack, p))
            continue;
        CHAIN_TRIM(stack, side, p, HOOD_CORNER)
        hood[stack.size] = at;
        chain_push(&stack, p);
    }
    return stack.size;
}
