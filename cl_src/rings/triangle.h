// rings/triangle.h: lattice points of a triangle, in a bitmap of the corners of rings.
//
//   p o-----------o n      p, v, n are neighbours on a ring whose inside is on its left, and v is reflex: the triangle is
//      \  . .  . /         outside. Only points on its lines of the lattice are looked at: a few words of the bitmap.
//       \ . .  /
//        \  /
//         v
//
// A bitmap has a bit for each point of the lattice, `words` words of 32 a line.

// Where all coordinates are below 2^15 (WIDE 0), cross products fit in an int.
#if WIDE
typedef long span_t;
typedef long2 span2_t;
#else
typedef int span_t;
typedef int2 span2_t;
#endif

inline span_t cross_of(int2 a, int2 b, int2 c)
{
    return ((span_t)b.x - a.x) * ((span_t)c.y - a.y) - ((span_t)b.y - a.y) * ((span_t)c.x - a.x);
}

// Least and greatest x (a range, empty if the first is larger) of the lattice points on line y that are left of the edge
// from a to b by at least `least`, as a cross product.
inline span2_t left_of(span2_t range, int2 a, int2 b, int y, int least)
{
    const span_t rise = (span_t)b.y - a.y, room = ((span_t)b.x - a.x) * (y - a.y) - least;
    if (rise == 0)
        return room < 0 ? (span2_t)(1, 0) : range;
    const span_t length = rise < 0 ? -rise : rise;
    const span_t whole = room >= 0 ? room / length : ~(~room / length);   // rounded down
    if (rise > 0)
        range.y = min(range.y, a.x + whole);
    else
        range.x = max(range.x, a.x - whole);
    return range;
}

inline int any_bit(global const uint *line, span2_t range)
{
    for (span_t word = range.x >> 5; word <= range.y >> 5; ++word) {
        uint bits = line[word];
        if (word == range.x >> 5)
            bits &= 0xffffffffu << (range.x & 31);
        if (word == range.y >> 5)
            bits &= 0xffffffffu >> (31 - (range.y & 31));
        if (bits)
            return 1;
    }
    return 0;
}

inline int is_marked(global const uint *bitmap, uint words, int2 at)
{
    return bitmap[(ulong)at.y * words + (at.x >> 5)] >> (at.x & 31) & 1;
}

// Whether a point of line y other than p, v and n is marked from column `left` to `right`: mostly none is, and then the line
// is done without divisions.
inline int any_other(global const uint *line, int y, int left, int right, int2 p, int2 v, int2 n)
{
    for (int word = left >> 5; word <= right >> 5; ++word) {
        uint bits = line[word];
        if (word == left >> 5)
            bits &= 0xffffffffu << (left & 31);
        if (word == right >> 5)
            bits &= 0xffffffffu >> (31 - (right & 31));
        if (y == p.y && word == p.x >> 5)
            bits &= ~(1u << (p.x & 31));
        if (y == v.y && word == v.x >> 5)
            bits &= ~(1u << (v.x & 31));
        if (y == n.y && word == n.x >> 5)
            bits &= ~(1u << (n.x & 31));
        if (bits)
            return 1;
    }
    return 0;
}

// Whether a marked point is inside the triangle or on its edge from p to n, without its corners. Points on the other edges
// are the ring's own.
inline int holds_own(global const uint *bitmap, uint words, int2 p, int2 v, int2 n)
{
    const int low = min(v.y, min(p.y, n.y)), high = max(v.y, max(p.y, n.y));
    const int left = min(v.x, min(p.x, n.x)), right = max(v.x, max(p.x, n.x));
    for (int y = low; y <= high; ++y) {
        if (!any_other(bitmap + (ulong)y * words, y, left, right, p, v, n))
            continue;
        span2_t range = (span2_t)(left, right);
        range = left_of(left_of(left_of(range, p, n, y, 0), n, v, y, 1), v, p, y, 1);
        if (range.x <= range.y && any_bit(bitmap + (ulong)y * words, range))
            return 1;
    }
    return 0;
}

// Whether a marked point is in the triangle or on its boundary, without its corners.
inline int holds_other(global const uint *bitmap, uint words, int2 p, int2 v, int2 n)
{
    const int low = min(v.y, min(p.y, n.y)), high = max(v.y, max(p.y, n.y));
    const int left = min(v.x, min(p.x, n.x)), right = max(v.x, max(p.x, n.x));
    for (int y = low; y <= high; ++y) {
        if (!any_other(bitmap + (ulong)y * words, y, left, right, p, v, n))
            continue;
        span2_t range = (span2_t)(left, right);
        range = left_of(left_of(left_of(range, p, n, y, 0), n, v, y, 0), v, p, y, 0);
        for (int side = 0; side < 2; ++side) {      // p and n are corners: each is at an end of the range of its line
            range.x += range.x <= range.y && ((y == p.y && range.x == p.x) || (y == n.y && range.x == n.x));
            range.y -= range.x <= range.y && ((y == p.y && range.y == p.x) || (y == n.y && range.y == n.x));
        }
        if (range.x <= range.y && any_bit(bitmap + (ulong)y * words, range))
            return 1;
    }
    return 0;
}
