// classes/lines.h: the sides between the classes of a raster, as bits of its corners.
//
//   line 0   +---+---+---+    a raster of h rows has h + 1 lines of corners, which follow those of the layer before; corner
//   row 0    |   |   |   |    x of a line is bit x % 32 of word x / 32. A word of `planes` has four masks of sides from these
//   line 1   +---+---+---+    corners: down and up, those along column x in the row under the line, east and west, those
//                             along the line to the next corner. A side is in one of two, so that the smaller class is at
//                             its left (+y is the left turn of +x).
//
// Directions are 0 to 3: +x, +y, -x, -y; the left turn of each is the next. kinds[corner] has a bit for each direction in
// which a side leaves the corner, and, 4 bits higher, in which one arrives from there. A bend has two sides, a node more.
#include "classes/bits.h"
#define IS_NODE(kind) (bit_count((uchar)(kind)) > 2)
#define TAIL 64                // of turns[step], beside the bits of rings/chains.h: the step ends at a node
#define NO_FACE 0xffffffffu

// Masks of the sides that leave each corner of a word, and of those that arrive, by direction: x, y, z, w.
typedef struct {
    uint4 out, in;
} sides_t;

inline sides_t sides_of(global const uint4 *planes, uint at, uint words)
{
    const uint4 own = planes[at], above = at < words ? (uint4)(0) : planes[at - words];
    const uint4 before = at % words ? planes[at - 1] : (uint4)(0);
    const uint east = own.z << 1 | before.z >> 31, west = own.w << 1 | before.w >> 31;
    return (sides_t){(uint4)(own.z, own.x, west, above.y), (uint4)(own.w, own.y, east, above.x)};
}

// Masks of the corners where boundaries turn or meet, and of the nodes among them.
inline uint2 corners_of(const sides_t *sides)
{
    const uint4 any = sides->out | sides->in;
    const uint active = (any.y | any.w) & (any.x | any.z);
    return (uint2)(active, active & ((any.y & any.w) | (any.x & any.z)));
}

// The bits of a word whose cells are in the raster.
inline uint inside_of(uint word, uint columns)
{
    const uint first = 32 * word;
    return first >= columns ? 0 : columns - first >= 32 ? 0xffffffffu : (1u << (columns - first)) - 1;
}

// The bits of cells of a row where runs of one class begin.
inline uint begins_of(uint4 own, uint word, uint columns)
{
    return (own.x | own.y | (word == 0)) & inside_of(word, columns);
}

// The run that has a cell, from the scan of the runs of words (its upper halves).
inline uint run_of(global const uint4 *planes, global const ulong *runs, uint line, uint words, uint columns, uint x)
{
    const uint word = x / 32, at = line * words + word;
    const uint upto = 0xffffffffu >> (31 - x % 32);
    return (uint)(runs[at] >> 32) + bit_count(begins_of(planes[at], word, columns) & upto) - 1;
}

// The step that leaves a corner in a direction, in which one does.
inline uint step_of(global const uchar *kinds, global const uint *slots, uint corner, uint direction)
{
    const uint kind = kinds[corner];
    return slots[corner] + (IS_NODE(kind) ? bit_count(kind & ((1u << direction) - 1)) : 0);
}

// The direction from one corner to another one of its line or column.
inline uint direction_of(uint2 from, uint2 to)
{
    return from.y == to.y ? (to.x > from.x ? 0 : 2) : to.y > from.y ? 1 : 3;
}

// The faces of the cells to the left and to the right of a corner in the row under its line; NO_FACE outside.
inline uint2 faces_beside(global const uint4 *planes, global const ulong *runs, global const uint *faces, uint line,
                          uint words, uint columns, uint x)
{
    const uint word = x / 32, at = line * words + word, begins = begins_of(planes[at], word, columns);
    const uint run = (uint)(runs[at] >> 32) + bit_count(begins & 0xffffffffu >> (31 - x % 32)) - 1;
    return (uint2)(x > 0 ? faces[run - (begins >> x % 32 & 1)] : NO_FACE, x < columns ? faces[run] : NO_FACE);
}
