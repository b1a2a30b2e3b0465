// batch_measures.h: area and perimeter of a hull, by one work-item, for devices that compute in double. The includer has
// portable.h, point_t and, as batch_chain.h says, chain_t, CHAIN_POINT and CHAIN_GET.

// Area and perimeter of the hull on the stack, in one fixed order on every device: edges in runs of 1024, each summed in
// order, then the runs. Areas are of triangles with the first corner: differences of neighbours are nearly always exact,
// and so is a product with its rounding error.
#define MEASURES_RUN 1024

inline double2 item_measures(const chain_t c, uint size, int flat)
{
    double scale = 1, back = 1;
    if (size < 2)
        return (double2)(0, 0);
#if defined(CLGEOM_COORD_double)
    double reach = 0;                              // squares shall neither overflow nor vanish
    for (uint s = 0; s < size; ++s) {
        const point_t p = CHAIN_POINT(c, CHAIN_GET(c, s));
        const double x = p.x < 0 ? -p.x : p.x, y = p.y < 0 ? -p.y : p.y;
        const double larger = x > y ? x : y;
        reach = larger > reach ? larger : reach;
    }
    if (reach > 0x1p500) {
        scale = 0x1p-520;
        back = 0x1p520;
    } else if (reach < 0x1p-800) {
        scale = 0x1p900;
        back = 0x1p-900;
    } else if (reach < 0x1p-400) {
        scale = 0x1p500;
        back = 0x1p-500;
    }
#endif
    const point_t first = CHAIN_POINT(c, CHAIN_GET(c, 0));
    const double x0 = first.x * scale, y0 = first.y * scale;
    double area = 0, length = 0, run_area = 0, run_length = 0, x = x0, y = y0;
    for (uint s = 1; s <= size; ++s) {
        const point_t p = CHAIN_POINT(c, CHAIN_GET(c, s < size ? s : 0));
        const double px = p.x * scale, py = p.y * scale, dx = px - x, dy = py - y;
        const double ax = x - x0, ay = y - y0, bx = px - x0, by = py - y0, left = ax * by, right = ay * bx;
        run_length += sqrt(dx * dx + dy * dy);
        run_area += (left - right) + (fma(ax, by, -left) - fma(ay, bx, -right));
        x = px;
        y = py;
        if (s % MEASURES_RUN == 0 || s == size) {
            length += run_length;
            area += run_area;
            run_length = run_area = 0;
        }
    }
    return (double2)(flat || area < 0 ? 0 : area * 0.5 * back * back, length * back);
}
