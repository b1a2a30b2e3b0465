// geometry/extreme.h: candidates for extreme points. The includer has typedefs real_t (coordinates) and key_t (keys).

typedef struct { key_t key; uint tile; } candidate_t;            // the first tile that has the key
typedef struct { ulong index; real_t x, y; } extreme_t;

// Even directions look for the largest key, odd ones for the smallest; the lower tile wins a tie.
inline int better(uint direction, candidate_t a, candidate_t b)
{
    if (a.key == b.key)
        return a.tile < b.tile;
    return direction & 1 ? a.key < b.key : a.key > b.key;
}
