// hood/hood_tile.h: the hoods of a tile of points in any order, by one work-item. The includer has geometry/orient2d.h,
// KEEP_COLLINEAR, hood/hood.h, TILE, and
//
//   tile_t         x, y, order, hoods: local memory for TILE coordinates, TILE keys, and two hoods of TILE indices, which are
//                  as many keys
//   PLACES         bits of an index
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

// Keys in order of x: BITS of a distance from the leftmost point, then the index of the point.
#define BITS min(32 - PLACES, 22)      // a float has two bits more, so the largest distance is in them
#define INDEX(key) ((key) & ((1u << PLACES) - 1))
#define IS_TIE(a, b) (((a) ^ (b)) >> PLACES == 0)

// Replaces the first `count` indices in `order` by keys; without a frame of usual size, these are the indices.
inline void item_keys(const tile_t tile, uint count)
{
    real_t left = tile.x[tile.order[0]], right = left;
    for (uint i = 1; i < count; ++i) {
        const real_t x = tile.x[tile.order[i]];
        left = x < left ? x : left;
        right = x > right ? x : right;
    }
#if INTEGERS
#define DISTANCE(x) ((float)((uint)(x) - (uint)left))
#else
#define DISTANCE(x) ((float)((x) - left))
#endif
    const float width = DISTANCE(right);
    const float scale = width > 1e-25f && width < 1e25f ? ((1 << BITS) - 2) / width : 0;
    for (uint i = 0; i < count; ++i) {
        const uint at = tile.order[i];
        const float x = DISTANCE(tile.x[at]) * scale;
        tile.order[i] = (x > 0 ? (uint)x : 0) << PLACES | at;          // also of NaN
    }
}

// Merges runs of `width` keys two by two, over and over; by their points if `exact`. Returns the array with the result.
inline local uint *item_merge(const tile_t tile, local uint *from, local uint *to, uint count, uint width, int exact)
{
    for (; width < count; width *= 2) {
        for (uint base = 0; base < count; base += 2 * width) {
            const uint middle = min(base + width, count), end = min(base + 2 * width, count);
            uint a = base, b = middle, k = base;
            while (a < middle && b < end) {        // a branch would be mispredicted half the time
                const uint left = from[a], right = from[b];
                const uint later = exact ? TILE_BEFORE(tile, INDEX(right), INDEX(left)) : right < left;
                to[k++] = exact ? (later ? right : left) : min(left, right);
                b += later;
                a += 1 - later;
            }
            while (a < middle)
                to[k++] = from[a++];
            while (b < end)
                to[k++] = from[b++];
        }
        local uint *const swap = from;
        from = to;
        to = swap;
    }
    return from;
}

// Sorts the first `count` indices in `order`: keys by insertion within runs of 8, then by merging. Overwrites `hoods`.
inline void item_sort(const tile_t tile, uint count)
{
    local uint *keys = tile.order, *const others = (local uint *)tile.hoods;
    if (count)
        item_keys(tile, count);
    for (uint run = 0; run < count; run += 8)
        for (uint i = run + 1; i < min(run + 8, count); ++i) {
            const uint moved = keys[i];
            uint k = i;
            for (; k > run && moved < keys[k - 1]; --k)
                keys[k] = keys[k - 1];
            keys[k] = moved;
        }
    keys = item_merge(tile, keys, others, count, 8, 0);
    // Keys of points with almost the same x, which are few in most tiles, by insertion.
    uint steps = 0;
    for (uint i = 1; i < count && steps <= 8 * count; ++i) {
        const uint moved = keys[i];
        uint k = i;
        for (; k > 0 && IS_TIE(moved, keys[k - 1]) && TILE_BEFORE(tile, INDEX(moved), INDEX(keys[k - 1])); --k)
            keys[k] = keys[k - 1];
        keys[k] = moved;
        steps += i - k;
    }
    if (steps > 8 * count)
        keys = item_merge(tile, keys, keys == others ? tile.order : others, count, 1, 1);
    for (uint i = 0; i < count; ++i)
        tile.order[i] = INDEX(keys[i]);
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
