// arc/arc_vertices.h: the output of arc_emit. The includer has geometry/orient2d.h, arc/arc_segments.h, arc/arc_crossing.h,
// POINT(points, id), the coordinates of a candidate, and PUBLISHED: 1 for both corners where tangents cross, as published.

// The input for all vertices, and their destination: at most `room` vertices from number `head` on.
typedef struct {
    global const real_t *lower, *upper;
    global const uint *corners, *links, *offsets, *sums;
    uint m, segments, chunk;
    global real_t *vertices;
    uint head, room;
} emission_t;

// The vertices of a segment and side: the first has number `at`, and they are the corners from q to p.
typedef struct {
    global const real_t *points;
    global const uint *corners;
    uint at, q, p;
} part_t;

inline part_t item_part(const emission_t *all, ulong i)
{
    const uint side = i >= all->segments;
    const part_t part = {
        side ? all->upper : all->lower, all->corners + (size_t)side * all->m,
        arc_offset(all->offsets, all->sums, all->chunk, (uint)i), all->links[4 * i + LINK_Q], all->links[4 * i + LINK_P]};
    return part;
}

// -0.0 + 0 is 0: results have one zero, whatever the order of points
inline void item_store(const emission_t *all, uint at, point_t p)
{
    if (at < all->room)
        vstore2(p + (real_t)0, all->head + at, all->vertices);
}

inline point_t item_corner(const part_t *part, uint index)
{
    return POINT(part->points, part->corners[index]);
}

// Every stride-th corner of a part, from `first` on.
inline void item_store_corners(const emission_t *all, const part_t *part, uint first, uint stride)
{
    for (uint k = part->q + first; k <= part->p; k += stride)
        item_store(all, part->at + (k - part->q), item_corner(part, k));
}

// A reflex vertex, where p is left of q: the crossing of the tangents that touch p and q.
inline void item_store_reflex(const emission_t *all, const part_t *part, ulong i)
{
    const point_t q = item_corner(part, part->q), p = item_corner(part, part->p);
#if PUBLISHED
    item_store(all, part->at, q);
    item_store(all, part->at + 1, p);
#else
    global const uint *link = all->links + 4 * i;
    item_store(all, part->at, arc_crossing(i >= all->segments, POINT(part->points, link[LINK_FROM]), q, p,
                                           POINT(part->points, link[LINK_TO])));
#endif
}

// The summary: for each region the first vertex of either side, and the number of segments that are not empty before it;
// regions + 1 of each, then the flag.
inline void items_store_summary(const emission_t *all, uint of_region, uint flag, global uint *summary)
{
    const uint regions = all->segments / of_region;
    for (uint i = get_global_id(0); i < 3 * (regions + 1); i += get_global_size(0)) {
        const uint which = i / (regions + 1), region = i - which * (regions + 1);
        summary[i] = arc_offset(all->offsets, all->sums, all->chunk, which * all->segments + region * of_region);
    }
    if (get_global_id(0) == 0)
        summary[3 * (regions + 1)] = flag;
}
