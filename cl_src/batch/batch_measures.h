// batch/batch_measures.h: area and perimeter of a hull, by one work-item, for devices that compute in double. The includer
// has geometry/points.h and, as batch/batch_chain.h says, chain_t, CHAIN_POINT and CHAIN_GET.
//
// Both are correctly rounded, as those of clgeom/hull/measures.py. They are summed in pairs of doubles with a bound of the
// error. If the bound does not exclude another rounded number, they are summed again, and every addition is tested: sums of
// coarse coordinates are often exact, and halfway between two doubles. Otherwise the result is IN_DOUBT, and the host
// computes it. That is rare: slivers, and numbers so small or large that products would leave the range of double.
#define IN_DOUBT -1.0

// Whether differences of coordinates may have a low part: not of ints, and at first not of floats (`floats_are_near`).
#if defined(CLGEOM_COORD_double)
#define HAS_LOW(tested) 1
#elif defined(CLGEOM_COORD_float)
#define HAS_LOW(tested) (tested)
#else
#define HAS_LOW(tested) 0
#endif

typedef struct { double high, low; } pair_t;
typedef struct { double high, low; int exact; } total_t;

// a + b and a - b without error (Knuth, "The Art of Computer Programming" 2, 4.2.2, theorem B).
inline pair_t pair_sum(double a, double b)
{
    const double sum = a + b, part = sum - a;
    const pair_t pair = {sum, (a - (sum - part)) + (b - part)};
    return pair;
}

inline pair_t pair_difference(double a, double b)
{
    return pair_sum(a, -b);
}

inline pair_t coordinate_difference(double a, double b, int tested)
{
    const pair_t plain = {a - b, 0};
    return HAS_LOW(tested) ? pair_difference(a, b) : plain;
}

inline total_t total_add(total_t total, double high, double low, int tested)
{
    const pair_t next = pair_sum(total.high, high);
    const double rest = next.low + low;
    if (tested)
        total.exact &= pair_sum(next.low, low).low == 0 && pair_sum(total.low, rest).low == 0;
    total.high = next.high;
    total.low += rest;
    return total;
}

// The total rounded, if all numbers that differ from it by at most `margin` are rounded to the same one within the limits.
inline double total_rounded(total_t total, double margin, double least, double most)
{
    const double low = total.high + (total.low - margin), high = total.high + (total.low + margin);
    return low == high && low >= least && low <= most ? low : IN_DOUBT;   // NaN is in doubt, too
}

// The length of an edge (dx, dy), as root + rest.
inline total_t item_length(pair_t dx, pair_t dy, int tested)
{
    const double xx = dx.high * dx.high, yy = dy.high * dy.high;
    const pair_t square = pair_sum(xx, yy);
    const double x_rest = fma(dx.high, dx.high, -xx), y_rest = fma(dy.high, dy.high, -yy);
    double rest = square.low + (x_rest + y_rest);
    if (HAS_LOW(tested))
        rest += 2 * (dx.high * dx.low + dy.high * dy.low);
    const double root = sqrt(square.high);
    rest = fma(-root, root, square.high) + rest;
    total_t length = {root, root > 0 ? rest / (2 * root) : 0, 0};
    if (tested && (dx.high == 0 || dy.high == 0)) {
        const pair_t side = dx.high == 0 ? dy : dx;
        const total_t known = {fabs(side.high), side.high < 0 ? -side.low : side.low, 1};
        length = known;
    } else if (tested)
        length.exact = rest == 0 && square.low == 0 && x_rest == 0 && y_rest == 0 && dx.low == 0 && dy.low == 0;
    return length;
}

// An area and a perimeter: totals, the sum of the sizes of the area's products, and the range of coordinates but 0.
typedef struct { total_t area, length; double products; real_t least, most; } sums_t;

// Sums of the edges' lengths, and of twice the areas of triangles with the first corner. The errors of an edge are below
// 2^-100 of its length or of its triangle's products. The low part of a sum, which each edge rounds, is below 2^-53 `size` of
// the high one: in all, errors are below 2^-101 (size + 32)^2 of the lengths or products.
inline sums_t item_sums(const chain_t c, uint size, int with_area, int with_length, int tested)
{
    const point_t first = CHAIN_POINT(c, CHAIN_GET(c, 0));
    sums_t sums = {{0, 0, 1}, {0, 0, 1}, 0, 1, 0};
#if defined(CLGEOM_COORD_float)
    sums.least = MAXFLOAT;
#endif
    pair_t ax = {0, 0}, ay = {0, 0};
    point_t before = first;
    for (uint s = 1; s <= size; ++s) {
        const point_t p = CHAIN_POINT(c, CHAIN_GET(c, s < size ? s : 0));
        if (with_length) {
            const total_t edge = item_length(coordinate_difference(p.x, before.x, tested),
                                             coordinate_difference(p.y, before.y, tested), tested);
            sums.length = total_add(sums.length, edge.high, edge.low, tested);
            sums.length.exact &= edge.exact;
            before = p;
        }
#if defined(CLGEOM_COORD_float)
        sums.most = fmax(sums.most, fmax(fabs(p.x), fabs(p.y)));
        sums.least = fmin(sums.least, fmin(p.x != 0 ? fabs(p.x) : MAXFLOAT, p.y != 0 ? fabs(p.y) : MAXFLOAT));
#endif
        if (with_area) {                           // that of the last edge is 0
            const pair_t bx = coordinate_difference(p.x, first.x, tested);
            const pair_t by = coordinate_difference(p.y, first.y, tested);
            const double left = ax.high * by.high, right = ay.high * bx.high;
            const double left_rest = fma(ax.high, by.high, -left), right_rest = fma(ay.high, bx.high, -right);
            const pair_t twice = pair_difference(left, right);
            double rest = left_rest - right_rest;
            if (tested)
                sums.area.exact &= ax.low == 0 && ay.low == 0 && bx.low == 0 && by.low == 0
                    && pair_difference(left_rest, right_rest).low == 0 && pair_sum(twice.low, rest).low == 0;
            if (HAS_LOW(tested))
                rest += (ax.high * by.low + ax.low * by.high) - (ay.high * bx.low + ay.low * bx.high);
            sums.area = total_add(sums.area, twice.high, twice.low + rest, tested);
            sums.products += fabs(left) + fabs(right);
            ax = bx;
            ay = by;
        }
    }
    return sums;
}

// Whether differences of coordinates are doubles, in units of the last place of the least coordinate.
inline int floats_are_near(sums_t sums)
{
#if defined(CLGEOM_COORD_float)
    return sums.most < 0x1p28 * sums.least;
#else
    return 1;
#endif
}

// Whether all operations for the area are exact. In units of the last place of the least coordinate, numbers are integers;
// products and their sums are below 2^105, so that both parts of a pair are integers below 2^53.
inline int area_is_exact(sums_t sums, uint size)
{
#if defined(CLGEOM_COORD_int)
    return size < 1 << 20;
#elif defined(CLGEOM_COORD_float)
    return (double)size * sums.most < 0x1p27 * sums.least;
#else
    return 0;
#endif
}

inline double area_of(sums_t sums, double margin)
{
    return 0.5 * total_rounded(sums.area, margin * sums.products, 0x1p-900, 0x1p1000);
}

inline double perimeter_of(sums_t sums, double margin)
{
    return total_rounded(sums.length, margin * sums.length.high, 0x1p-350, 0x1p500);
}

// Area and perimeter of the hull on the stack; sets doubt[0] if one of them is IN_DOUBT, or half of it.
inline double2 item_measures(const chain_t c, uint size, int flat, global uint *doubt)
{
    if (size < 2)
        return (double2)(0, 0);
    const double margin = 0x1p-101 * (size + 32.0) * (size + 32.0);
    const sums_t sums = item_sums(c, size, 1, 1, 0);
    const int is_near = floats_are_near(sums);
    double area = flat ? 0 : is_near ? area_of(sums, area_is_exact(sums, size) ? 0 : margin) : IN_DOUBT;
    double perimeter = is_near ? perimeter_of(sums, margin) : IN_DOUBT;
    if (area < 0 || perimeter < 0) {
        const sums_t again = item_sums(c, size, area < 0, perimeter < 0, 1);
        area = area < 0 ? area_of(again, again.area.exact ? 0 : margin) : area;
        perimeter = perimeter < 0 ? perimeter_of(again, again.length.exact ? 0 : margin) : perimeter;
        if (area < 0 || perimeter < 0)
            doubt[0] = 1;
    }
    return (double2)(area, perimeter);
}
