// arc/arc_turn.h: TURN of hood/hood.h as a function, for compilers that inline each of its calls. The includer has
// geometry/orient2d.h and point_t.
inline int arc_turn(uint side, point_t a, point_t b, point_t c)
{
    const int turn = orient2d(a.x, a.y, b.x, b.y, c.x, c.y);
    return side ? -turn : turn;
}
