// rings/chains.h: the edges of rings as chains, which one work-item follows.
//
//   ring     * -> . -> . -> . -> * -> . -> . -> (*)      a chain goes from an edge that is marked to the one before the next
//
// The least edge of each ring begins a chain. On CPUs it is the only one (rings_trace). Elsewhere chains also begin where a
// ring turns at the top of covered or uncovered cells, and in every CUT_ROWS-th row, so none is longer than 2 CUT_ROWS + 2:
// between two tops a ring goes down once, and up once.
#define CUT_ROWS 32

// Bits of turns[edge]: the edge ends at two corners; the first or the second of them is at a saddle; the edge begins a
// chain; the one that follows does, which is the one before in memory; rings_trace has been there.
#define CORNERS 1
#define SADDLE 2
#define SECOND_SADDLE 4
#define FIRST 8
#define FIRST_NEXT 16
#define VISITED 32

// Goes to the edge that follows; whether it is in the same chain.
inline int follow(global const uint *following, global const uchar *turns, uint *edge)
{
    const int ends = turns[*edge] & FIRST_NEXT;
    *edge = following[*edge];
    return !ends && !(turns[*edge] & FIRST);
}
