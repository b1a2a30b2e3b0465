// arc/arc_order.h: whether points are finite and in lexicographic order. The includer has point_t and real_t.
inline int arc_in_order(point_t a, point_t b) { return a.x < b.x || (a.x == b.x && a.y <= b.y); }
inline int arc_is_finite(point_t p) { return p.x - p.x == 0 && p.y - p.y == 0; }
