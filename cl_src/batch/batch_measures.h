// batch/batch_measures.h: area and perimeter of a hull, by one work-item, for devices that compute in double. The includer
// has geometry/points.h and, as batch/batch_chain.h says, chain_t, CHAIN_POINT and CHAIN_GET.

// Area and perimeter of the hull on the stack, in one fixed order on every device: edges in runs of 1024, each summed in
// order, then the runs. Areas are of triangles with the first corner: differences of neighbours are nearly always exact,
// and so is a product with its rounding error.
#define MEASURES_RUN 1024

// For numbers up to `reach`: a power of two with which squares and products of scaled numbers neither overflow nor
// underflow, and its inverse.
typedef struct { double to, back; } scaling_t;

inline scaling_t scaling_of(double reach)
{
    const scaling_t none = {1, 1}, down = {0x1p-520, 0x1p520}, far_up = {0x1p900, 0x1p-900}, up = {0x1p500, 0x1p-500};
    return reach > 0x1p500 ? down : reach < 0x1p-800 ? far_up : reach < 0x1p-400 ? up : none;
}

// An area times two powers of two; powers on different sides of 1 are multiplied first, so that nothing overflows.
inline double area_back(double area, scaling_t x, scaling_t y)
{
    return (x.back > 1) == (y.back > 1) ? area * x.back * y.back : area * (x.back * y.back);
}

#if defined(CLGEOM_COORD_double)
inline double reach_of(point_t a)
{
    const double x = a.x < 0 ? -a.x : a.x, y = a.y < 0 ? -a.y : a.y;
    return x > y ? x : y;
}

// The length of an edge in units of the scaling of longer ones. The edge has a scaling of its own, which keeps its last
// bits: end points are subtracted before they are scaled, except where that may overflow. Bits that scaling down drops from
// the coordinates are then below the precision of the length.
inline double length_of(point_t a, point_t b, scaling_t all)
{
    const point_t plain = b - a;
    const scaling_t own = scaling_of(reach_of(plain));
    const point_t side = own.to < 1 ? b * own.to - a * own.to : plain * own.to;
    return sqrt(side.x * side.x + side.y * side.y) * (own.back * all.to);
}
#endif

inline double2 item_measures(const chain_t c, uint size, int flat)
{
    scaling_t across = {1, 1}, up = across, edges = across;
    if (size < 2)
        return (double2)(0, 0);
#if defined(CLGEOM_COORD_double)
    double2 reach = 0;
    double longest = 0;
    point_t last = CHAIN_POINT(c, CHAIN_GET(c, size - 1));
    for (uint s = 0; s < size; ++s) {
        const point_t p = CHAIN_POINT(c, CHAIN_GET(c, s));
        const double2 size_of = (double2)(p.x < 0 ? -p.x : p.x, p.y < 0 ? -p.y : p.y);
        const double edge = reach_of(p - last);
        reach.x = size_of.x > reach.x ? size_of.x : reach.x;
        reach.y = size_of.y > reach.y ? size_of.y : reach.y;
        longest = edge > longest ? edge : longest;
        last = p;
    }
    across = scaling_of(reach.x);
    up = scaling_of(reach.y);
    edges = scaling_of(longest);
#endif
    const point_t first = CHAIN_POINT(c, CHAIN_GET(c, 0));
    const double x0 = first.x * across.to, y0 = first.y * up.to;
    double area = 0, length = 0, run_area = 0, run_length = 0;
    point_t before = first;
    for (uint s = 1; s <= size; ++s) {
        const point_t p = CHAIN_POINT(c, CHAIN_GET(c, s < size ? s : 0));
        const double ax = before.x * across.to - x0, ay = before.y * up.to - y0;
        const double bx = p.x * across.to - x0, by = p.y * up.to - y0, left = ax * by, right = ay * bx;
#if defined(CLGEOM_COORD_double)
        run_length += length_of(before, p, edges);
#else
        const double dx = (double)p.x - before.x, dy = (double)p.y - before.y;
        run_length += sqrt(dx * dx + dy * dy);
#endif
        run_area += (left - right) + (fma(ax, by, -left) - fma(ay, bx, -right));
        before = p;
        if (s % MEASURES_RUN == 0 || s == size) {
            length += run_length;
            area += run_area;
            run_length = run_area = 0;
        }
    }
    return (double2)(flat || area < 0 ? 0 : area_back(area * 0.5, across, up), length * edges.back);
}
