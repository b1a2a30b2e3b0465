// geometry/octagon.h: the queue of a point by the eight edges of heaphull's octagon. The includer has geometry/orient2d.h
// and APPROX, the type of the edges' lines: float for int.
#define EDGES 8                  // and one more record for the box
typedef APPROX approx_t;
typedef struct {
    real_t ax, ay, bx, by;
    approx_t nx, ny, offset, slack;
    uint quadrant;
} edge_t;

// 0 strictly inside, else the quadrant of the first edge that the point is not strictly left of. The sign of n . p + offset
// decides, with an offset lowered by more than the rounding errors; where that is not certain, the exact predicate does.
inline uchar label_of(constant edge_t *edges, real_t x, real_t y)
{
    for (int e = 0; e < EDGES; ++e) {
        const approx_t line = edges[e].nx * (approx_t)x + edges[e].ny * (approx_t)y + edges[e].offset;
        if (line > 0)
            continue;
        if (line < -edges[e].slack || orient2d(edges[e].ax, edges[e].ay, edges[e].bx, edges[e].by, x, y) <= 0)
            return edges[e].quadrant;
    }
    return 0;
}
