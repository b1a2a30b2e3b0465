// Cells of align_pairs: one number of 32 bits, or two of 16 bits in the halves of a word, each of which is a lane.
//
//   CELL_KIND  INT_CELLS     one lane
//              SHORT2_CELLS  two lanes, in a short2
//              PTX_CELLS     two lanes, in a uint: by instructions of NVIDIA's GPUs that OpenCL C has no names for
//
// SCORE(words, r) is byte r, a literal, of the word of each lane, extended by its sign. BYTES(x, y, ...) is a word of
// these bytes of both, literals of which 4 is the first of y.
#if CELL_KIND == INT_CELLS
typedef int cells_t;
#define SPLAT(v) (v)
#define ADD(x, y) ((x) + (y))
#define MAX(x, y) max(x, y)
#define MAX0(x, y) max(max(x, y), 0)
#define NEGATED(x) (-(x))
#define LANE(x, l) (x)
#define WORD(x) as_uint(x)
#define CELLS(x) as_int(x)
#define SCORE(words, r) ((int)as_char4((words)[0]).s##r)
#elif CELL_KIND == SHORT2_CELLS
typedef short2 cells_t;
#define SPLAT(v) ((short2)(short)(v))
#define ADD(x, y) ((x) + (y))
#define MAX(x, y) max(x, y)
#define MAX0(x, y) max(max(x, y), (short2)(0))
#define NEGATED(x) (-(x))
#define LANE(x, l) ((int)((l) ? (x).s1 : (x).s0))
#define WORD(x) as_uint(x)
#define CELLS(x) as_short2(x)
#define SCORE(words, r) (short2)(as_char4((words)[0]).s##r, as_char4((words)[1]).s##r)
#else
typedef uint cells_t;
inline uint ptx_add(const uint x, const uint y)
{
    uint z;
    asm("add.s16x2 %0, %1, %2;" : "=r"(z) : "r"(x), "r"(y));
    return z;
}
inline uint ptx_max(const uint x, const uint y)
{
    uint z;
    asm("max.s16x2 %0, %1, %2;" : "=r"(z) : "r"(x), "r"(y));
    return z;
}
inline uint ptx_max_or_zero(const uint x, const uint y)
{
    uint z;
    asm("max.relu.s16x2 %0, %1, %2;" : "=r"(z) : "r"(x), "r"(y));
    return z;
}
// Byte r of both words, each extended to 16 bits by its sign.
inline uint ptx_bytes(const uint x, const uint y, const uint selector)
{
    uint z;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(z) : "r"(x), "r"(y), "r"(selector));
    return z;
}
#define SPLAT(v) ((uint)((v) & 0xffff) * 0x10001u)
#define ADD(x, y) ptx_add(x, y)
#define MAX(x, y) ptx_max(x, y)
#define MAX0(x, y) ptx_max_or_zero(x, y)
#define NEGATED(x) (((uint)-LANE(x, 0) & 0xffff) | (uint)-LANE(x, 1) << 16)
#define LANE(x, l) ((int)(short)((x) >> 16 * (l)))
#define WORD(x) (x)
#define CELLS(x) (x)
#define SCORE(words, r) ptx_bytes((words)[0], (words)[1], 0xc480u + 0x1111u * r)
#define BYTES(x, y, i, j, k, l) ptx_bytes(x, y, 0x##l##k##j##i##u)
#endif
#if CELL_KIND != PTX_CELLS
#define PUT_BYTE(x, y, i, at) (((i) < 4 ? (x) >> 8 * ((i) & 3) : (y) >> 8 * ((i) & 3)) % 256 << 8 * (at))
#define BYTES(x, y, i, j, k, l) (PUT_BYTE(x, y, i, 0) | PUT_BYTE(x, y, j, 1) | PUT_BYTE(x, y, k, 2) | PUT_BYTE(x, y, l, 3))
#endif
