// arc/arc_segments.h: segments of candidates, and the corners of their hulls. The includer has portable.h.
//
//   candidates | region 0: segment 0 | segment 1 | ..  | region 1: ..          (x, y), ascending x in a region
//   cuts       [ first candidate of segment 0 | of segment 1 | .. | number of candidates ]
//   corners    [ lower side: as candidates, left-justified in each segment .. | upper side .. ]      candidates
//   ranges     [ lower side: (first, last) index in corners of the side | .. | upper side .. ]       (1, 0): empty
//
// A region has `segments` segments, numbered consecutively over all regions. Segments may be empty. Cuts ascend if the
// candidates are in order; if not, a segment that would end before it begins is empty.

// The share of a work-item in `all` numbers: neighbours, or strided.
typedef struct {
    ulong begin, end, stride;
} share_t;

inline share_t item_share(ulong all, int are_neighbours)
{
    if (!are_neighbours)
        return (share_t){get_global_id(0), all, get_global_size(0)};
    const ulong size = (all + get_global_size(0) - 1) / get_global_size(0), begin = min(get_global_id(0) * size, all);
    return (share_t){begin, min(begin + size, all), 1};
}

inline int arc_is_empty(global const uint *cuts, uint s) { return cuts[s] >= cuts[s + 1]; }

// The next segment after s that is not empty, or `end`, one past the last segment of the region.
inline uint arc_next(global const uint *cuts, uint s, uint end)
{
    const uint begin = cuts[s + 1];
    if (begin == cuts[end])
        return end;
    uint lo = s + 1, hi = end - 1;            // the last segment that begins with this cut
    if (cuts[lo + 1] > begin)
        return lo;
    while (lo < hi) {
        const uint mid = lo + (hi - lo + 1) / 2;
        if (cuts[mid] == begin)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

// The first segment after a tile that is not empty; `segments` if there is none.
inline uint arc_halo(global const uint *cuts, uint tile_end, uint segments)
{
    return tile_end < segments ? arc_next(cuts, tile_end - 1, segments) : segments;
}

// The last segment before a tile that is not empty, or `segments` if there is none.
inline uint arc_previous(global const uint *cuts, uint tile, uint segments)
{
    const uint end = cuts[tile];
    if (tile == 0 || cuts[0] == end)
        return segments;
    uint lo = 0, hi = tile - 1;               // the last segment that begins before
    if (cuts[hi] < end)
        return hi;
    while (lo < hi) {
        const uint mid = lo + (hi - lo + 1) / 2;
        if (cuts[mid] < end)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

// The links of a segment, for each side: the corners that tangents touch, and the candidates at the tangents' other ends.
#define LINK_Q 0          // index of the corner that the tangent from the left touches; the first corner without a tangent
#define LINK_P 1          // index of the corner that the tangent to the right touches; the last corner without a tangent
#define LINK_FROM 2       // candidate at the other end of the tangent from the left
#define LINK_TO 3         // candidate at the other end of the tangent to the right

// Number of vertices of segment and side i (`segments` of each side): the corners from q to p, or `reflex_vertices` where p
// is left of q, at a reflex vertex: 1 for the crossing, 2 for both corners as published. From 2 * segments on: 1 for a
// segment that is not empty.
inline uint arc_count(global const uint *cuts, global const uint *links, uint segments, uint i, uint reflex_vertices)
{
    const uint block = (i >= segments) + (i >= 2 * segments), s = i - block * segments, empty = arc_is_empty(cuts, s);
    if (block == 2)
        return !empty;
    const uint q = links[4 * (size_t)i + LINK_Q], p = links[4 * (size_t)i + LINK_P];      // any value if the segment is empty
    return empty ? 0 : q <= p ? p - q + 1 : reflex_vertices;
}

// Offset i of those that arc_offsets leaves in chunks of `chunk` numbers. After a full scan `chunk` is greater than all i.
inline uint arc_offset(global const uint *offsets, global const uint *sums, uint chunk, uint i)
{
    uint offset = offsets[i];
    for (uint c = 0; c < i / chunk; ++c)
        offset += sums[c];
    return offset;
}
