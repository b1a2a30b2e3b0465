// rings/cut.h: the order of removals. A budget of a map, or of a polygon (BY_POLYGON), takes the first ones of it: by
// round, then by area, then by number.
#define LAST 0x80000000u
#define WITHIN 1      // in taken[vertex]: the removal is within the limit of the area
#define NEEDED 2      // .. a budget of vertices needs it

#if BY_POLYGON
#define OWNER(vertex) polygon_of(firsts, polygons, ring_of[vertex])
#else
#define OWNER(vertex) (mask_of[vertex] / levels)
#endif

// The polygon of a ring: the last one that begins at it or before.
inline uint polygon_of(global const uint *firsts, uint polygons, uint ring)
{
    uint low = 0, high = polygons - 1;
    while (low < high) {
        const uint middle = low + (high - low + 1) / 2;
        if (firsts[middle] <= ring)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}
