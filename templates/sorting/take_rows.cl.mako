<%page args="word='uint', index='uint', mode='raise', variant='group', wg_size=256, items_per_thread=1"/>\
// take_rows: the rows of a table at these indices, of any number of bytes.
//
//   table   | row 0 | row 1 | ..  rows of `width` words         indices below 0 count from the end
//   indices | 2 0 -1 .. |
//   out     | row 2 | row 0 | last row | ..
//   wrong   the lowest i whose index is out of range (mode "raise"); such a row is not written
//
// Reads n indices and rows, writes n rows.
#include "portable.h"
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "group/share.h"
#define RAISE 0
#define WRAP 1
#define CLIP 2
#define MODE ${mode.upper()}
#define SIGNED ${int(not index.startswith("u"))}
typedef ${index} index_t;

// The row of an index, or `rows` if there is none.
inline ulong row_of(index_t given, ulong rows)
{
#if SIGNED
    const long index = given;
    const int negative = index < 0;
#else
    const ulong index = given;
    const int negative = 0;
#endif
#if MODE == CLIP
    return negative ? 0 : min((ulong)index, rows - 1);
#elif MODE == WRAP
    if (negative) {
        const ulong back = (ulong)-(index + 1) % rows;       // -1 becomes 0: the last row
        return rows - 1 - back;
    }
    return (ulong)index % rows;
#else
    const ulong row = negative ? (ulong)index + rows : (ulong)index;   // wraps around where it is too low
    return min(row, rows);
#endif
}

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void take_rows(global const ${word} *table, const ulong rows, const uint width, global const index_t *indices,
               const ulong n, global ${word} *out
#if MODE == RAISE
               , volatile global uint *wrong
#endif
               )
{
#if CLGEOM_SERIAL
    EACH_OF(ulong, i, n, get_global_id(0), get_global_size(0)) {
        const ulong row = row_of(indices[i], rows);
        if (row < rows)
            for (uint k = 0; k < width; ++k)
                out[i * width + k] = table[row * width + k];
#else
    EACH_OF(ulong, at, n * width, get_global_id(0), get_global_size(0)) {
        const ulong i = at / width, row = row_of(indices[i], rows);
        if (row < rows)
            out[at] = table[row * width + at % width];
#endif
#if MODE == RAISE
        else
            atomic_min(wrong, (uint)i);
#endif
    }
}
