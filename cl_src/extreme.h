// extreme.h: a candidate for an extreme point. The includer has typedefs real_t (coordinates) and key_t (keys).

typedef struct { ulong index; real_t x, y; } extreme_t;

inline extreme_t extreme_at(global const real_t *points, ulong i, ulong start)
{
    extreme_t extreme;
    extreme.index = start + i;
    extreme.x = points[2 * i];
    extreme.y = points[2 * i + 1];
    return extreme;
}
