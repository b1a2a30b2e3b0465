// keys/shell_chunk.h: the division of an h-subsequence among work-items, and the insertion sorts of one part.
//
//   codes          | c0 c1 c2 .. | c0 c1 c2 .. | ..     rows of `gap` elements; those at c are h-subsequence c
//   subsequence c  [ row 0 .. | .. | .. rows - 1 ]      chunk k of `chunks` starts at row k * rows / chunks
//
// Every sort here works on `rows` elements from codes[first] on, `gap` apart.
#include "keys/shell_count.h"

inline uint subsequence_rows(const uint n, const uint gap, const uint subsequence)
{
    return (n - subsequence - 1) / gap + 1;
}

inline uint chunk_begin(const uint rows, const uint chunks, const uint chunk)
{
    return (uint)((ulong)rows * chunk / chunks);
}

// From the smallest up: the ordered part grows at the front, and each element sinks into it.
inline void insertion_upwards(global code_t *codes, const ulong first, const uint gap, const uint rows,
                              traffic_t *traffic)
{
    for (uint row = 1; row < rows; ++row) {
        const code_t mine = code_read(codes, first + (ulong)row * gap, traffic);
        uint hole = row;
        while (hole > 0) {
            const code_t above = code_read(codes, first + (ulong)(hole - 1) * gap, traffic);
            if (above <= mine)
                break;
            code_write(codes, first + (ulong)hole * gap, above, traffic);
            --hole;
        }
        if (hole != row)
            code_write(codes, first + (ulong)hole * gap, mine, traffic);
    }
}

// From the largest down: the ordered part grows at the end, and each element rises into it.
inline void insertion_downwards(global code_t *codes, const ulong first, const uint gap, const uint rows,
                                traffic_t *traffic)
{
    for (uint row = rows - 1; row-- > 0;) {
        const code_t mine = code_read(codes, first + (ulong)row * gap, traffic);
        uint hole = row;
        while (hole + 1 < rows) {
            const code_t below = code_read(codes, first + (ulong)(hole + 1) * gap, traffic);
            if (below >= mine)
                break;
            code_write(codes, first + (ulong)hole * gap, below, traffic);
            ++hole;
        }
        if (hole != row)
            code_write(codes, first + (ulong)hole * gap, mine, traffic);
    }
}

// insertion_upwards with the fewest accesses: the largest element so far is kept in a register, so that an element in order
// costs one read and no write.
inline void insertion_carrying(global code_t *codes, const ulong first, const uint gap, const uint rows,
                               traffic_t *traffic)
{
    if (rows < 2)
        return;
    code_t largest = code_read(codes, first, traffic);
    for (uint row = 1; row < rows; ++row) {
        const code_t mine = code_read(codes, first + (ulong)row * gap, traffic);
        if (mine >= largest) {
            largest = mine;
            continue;
        }
        code_write(codes, first + (ulong)row * gap, largest, traffic);
        uint hole = row - 1;
        while (hole > 0) {
            const code_t above = code_read(codes, first + (ulong)(hole - 1) * gap, traffic);
            if (above <= mine)
                break;
            code_write(codes, first + (ulong)hole * gap, above, traffic);
            --hole;
        }
        code_write(codes, first + (ulong)hole * gap, mine, traffic);
    }
}

// insertion_upwards in local memory, where the elements are contiguous.
inline void insertion_local(local code_t *codes, const uint rows)
{
    for (uint row = 1; row < rows; ++row) {
        const code_t mine = codes[row];
        uint hole = row;
        for (; hole > 0 && codes[hole - 1] > mine; --hole)
            codes[hole] = codes[hole - 1];
        codes[hole] = mine;
    }
}
