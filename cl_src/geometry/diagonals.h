// geometry/diagonals.h: the outermost points on the diagonals and the box between them. The includer has geometry/points.h.
//
// For any four points NE, NW, SW and SE, a point is strictly inside their hull if it is right of both western ones, left of
// both eastern ones, above both southern ones and below both northern ones.
typedef struct { point_t far[4]; float reach[4]; } diagonals_t;          // NE, NW, SW, SE
typedef struct { real_t left, bottom, right, top; int is_known; } box_t;

inline diagonals_t no_diagonals(void)
{
    const diagonals_t none = {{0, 0, 0, 0}, {-INFINITY, -INFINITY, -INFINITY, -INFINITY}};
    return none;
}

// Adds a point with these projections on both diagonals.
inline void diagonals_take(diagonals_t *outer, float along, float up, point_t p)
{
    const float sum = along + up, difference = up - along;
    const float reached[4] = {sum, difference, -sum, -difference};
    for (uint k = 0; k < 4; ++k)
        if (reached[k] > outer->reach[k]) {
            outer->reach[k] = reached[k];
            outer->far[k] = p;
        }
}

// There is no box without four finite points.
inline box_t box_between(const diagonals_t *outer)
{
    const point_t ne = outer->far[0], nw = outer->far[1], sw = outer->far[2], se = outer->far[3];
    box_t box;
    box.left = nw.x > sw.x ? nw.x : sw.x;
    box.right = ne.x < se.x ? ne.x : se.x;
    box.bottom = sw.y > se.y ? sw.y : se.y;
    box.top = ne.y < nw.y ? ne.y : nw.y;
    box.is_known = outer->reach[0] > -INFINITY && outer->reach[1] > -INFINITY && outer->reach[2] > -INFINITY &&
                   outer->reach[3] > -INFINITY;
    return box;
}
