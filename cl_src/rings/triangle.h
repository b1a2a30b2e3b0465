// rings/triangle.h: lattice points of a triangle, in a bitmap of the corners of rings.
//
//   p o-----------o n      p, v, n are neighbours on a ring whose inside is on its left, and v is reflex: the triangle is
//      \  . .  . /         outside. Only points on its lines of the lattice are looked at: a few words of the bitmap.
//       \ . .  /
//        \  /
//         v
//
// A bitmap has a bit for each point of the lattice, `words` words of 32 a line. The includer has NESTED and WIDE, see measure.h.
#define FEW 8              // twice the largest area of triangles whose points are found by their weights
#define WIDE_TRIANGLE 32   // columns from which on parts of lines are computed

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

// Of a word of 32 columns those from column `left` to `right`, as bits.
inline uint columns_of(int word, span_t left, span_t right)
{
    const span_t first = max(left - 32 * word, (span_t)0), last = min(right - 32 * word, (span_t)31);
    return first > last ? 0 : (0xffffffffu << first) & (0xffffffffu >> (31 - last));
}

inline int is_marked(global const uint *bitmap, uint words, int2 at)
{
    return bitmap[(ulong)at.y * words + (at.x >> 5)] >> (at.x & 31) & 1;
}

// Remainders of both coordinates, not negative.
inline int2 remainders(span2_t a, int divisor)
{
    const int2 rest = (int2)((int)(a.x % divisor), (int)(a.y % divisor));
    return rest + ((rest < 0) & (int2)divisor);
}

inline int2 sum_of_remainders(int2 a, int2 b, int divisor)
{
    return a + b - ((a + b >= (int2)divisor) & (int2)divisor);
}

// Whether a marked point is in the way of a triangle whose area is half of `area`, which is 1 to FEW: one of `bitmap` that is
// not on the edges at v, which are the ring's own, or one of `outer`, if NESTED. The triangle's points have whole weights,
// area * q = a v + b p + c n with a + b + c = area, and few of these are points of the lattice.
inline int holds_by_weights(global const uint *bitmap, global const uint *outer, uint words, int2 p, int2 v, int2 n,
                            int area)
{
    const span2_t to_p = (span2_t)((span_t)p.x - v.x, (span_t)p.y - v.y);
    const span2_t to_n = (span2_t)((span_t)n.x - v.x, (span_t)n.y - v.y);
    const int2 step_p = remainders(to_p, area), step_n = remainders(to_n, area);
    // of area * (q - v) the remainders, for the first c; both are 0 at points of the lattice
    int2 first = NESTED ? (int2)(0, 0) : sum_of_remainders(step_p, step_n, area);
    for (int b = !NESTED; b <= area - !NESTED; ++b) {
        int2 rest = first;
        for (int c = !NESTED; b + c <= area; ++c, rest = sum_of_remainders(rest, step_n, area)) {
            if (rest.x == 0 && rest.y == 0 && b + c > 0 && b < area && c < area) {
                const span2_t sum = to_p * (span_t)b + to_n * (span_t)c;
                const int2 at = (int2)(v.x + (int)(sum.x / area), v.y + (int)(sum.y / area));
#if NESTED
                if (is_marked(outer, words, at))
                    return 1;
                if (b == 0 || c == 0)
                    continue;
#endif
                if (is_marked(bitmap, words, at))
                    return 1;
            }
        }
        first = sum_of_remainders(first, step_p, area);
    }
    return 0;
}

// Whether a marked point other than p, v and n is in the triangle, at a cross product of at least `least` from the edges at
// v: 1 leaves out the points on these, which are the ring's own.
//
// Most triangles are a few columns wide, and few of their lines have points: each of these is tried. Of wide triangles only
// those are that are in the part of the line that is inside, which takes divisions. Share `part` of the search, of `parts` in
// all, has every `parts`-th line.
inline int holds(global const uint *bitmap, uint words, int2 p, int2 v, int2 n, int least, uint part, uint parts)
{
    const int low = min(v.y, min(p.y, n.y)), high = max(v.y, max(p.y, n.y));
    const int left = min(v.x, min(p.x, n.x)), right = max(v.x, max(p.x, n.x));
    for (int y = low + (int)part; y <= high; y += (int)parts) {
        global const uint *const line = bitmap + (ulong)y * words;
        span2_t inside = (span2_t)(left, right);
        int is_cut = right - left < WIDE_TRIANGLE;
        for (int word = left >> 5; word <= right >> 5; ++word) {
            uint bits = line[word] & columns_of(word, inside.x, inside.y);
            if (y == p.y && word == p.x >> 5)
                bits &= ~(1u << (p.x & 31));
            if (y == v.y && word == v.x >> 5)
                bits &= ~(1u << (v.x & 31));
            if (y == n.y && word == n.x >> 5)
                bits &= ~(1u << (n.x & 31));
            if (bits && !is_cut) {
                inside = left_of(left_of(left_of(inside, p, n, y, 0), n, v, y, least), v, p, y, least);
                bits &= columns_of(word, inside.x, inside.y);
                is_cut = 1;
            }
            for (; bits; bits &= bits - 1) {
                const int2 at = (int2)(32 * word + 31 - (int)clz(bits & -bits), y);
                if (cross_of(p, n, at) >= 0 && cross_of(n, v, at) >= least && cross_of(v, p, at) >= least)
                    return 1;
            }
        }
    }
    return 0;
}
