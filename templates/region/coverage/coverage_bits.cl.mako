<%page args="value='float', threshold='float', levels=1, below=False, nodata=False, by_bits=False, variant='group', wg_size=256, items_per_thread=1"/>\
// coverage_bits: a bit for each cell and level, whether the cell is covered, in words of 32 rows of a column.
//
//   rows r .. r + 31   | cells | cells | ..     a work-item takes 32 rows of a column, on CPUs of a block of columns;
//   word               |  w 0  |  w 1  | ..     neighbouring items read neighbouring values
//
//   bits  [ mask 0: word 0 of every column | word 1 .. | mask 1 .. ]        masks in the order of map and level
//
// Word 0 has in its last bit the row above `first_row`, where word 1 begins; bits after the last row are 0.
// Reads every value once, and again from a cache for further levels; writes a bit for each and level.
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "portable.h"
#define VALUE ${value}
#define THRESHOLD ${threshold}
#define BELOW ${int(below)}
#define NODATA ${int(nodata)}
#define BY_BITS ${int(by_bits)}
#define LEVELS ${levels}
#include "coverage/covered.h"
#define WG_SIZE ${wg_size}
#if CLGEOM_SERIAL
#define BLOCK 2048                   // columns of a work-item
#else
#define BLOCK 1
#endif
#define BIT(k) (uint)COVERED(here[j + (k) * (size_t)columns], level) << (k)

// Rows `first_row` .. of each map; the first of them begins at `start`. The row above them is in memory, too.
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void coverage_bits(global const VALUE *restrict raster, const ulong start, const uint maps, const uint first_row,
                   const uint rows, const uint columns, global const THRESHOLD *thresholds, const THRESHOLD nodata,
                   global uint *restrict bits)
{
    const uint blocks = (columns + BLOCK - 1) / BLOCK, words = (rows + 31) / 32;
    const ulong all = (ulong)maps * words * blocks;
#if CLGEOM_SERIAL
    const ulong share = (all + get_global_size(0) - 1) / get_global_size(0);
    const ulong begin = min(get_global_id(0) * share, all), end = min(begin + share, all), stride = 1;
#else
    const ulong begin = get_global_id(0), end = all, stride = get_global_size(0);
#endif
    for (ulong i = begin; i < end; i += stride) {
        const uint first = i % blocks * BLOCK, word = i / blocks % words, width = min((uint)BLOCK, columns - first);
        const ulong map = i / blocks / words;
        const uint height = min(rows - 32 * word, 32u);
        global const VALUE *const cells = raster + start + (map * rows + 32 * word) * columns + first;
        for (uint l = 0; l < LEVELS; ++l) {
            const THRESHOLD level = thresholds[l];
            global uint *const to = bits + ((map * LEVELS + l) * (words + 1) + word + 1) * columns + first;
            global const VALUE *here = cells;
            uint made[BLOCK];
            for (uint j = 0; j < width; ++j)
                made[j] = 0;
            uint k = 0;
            for (; k + 8 <= height; k += 8, here += 8 * (size_t)columns)
                for (uint j = 0; j < width; ++j)
                    made[j] |= (BIT(0) | BIT(1) | BIT(2) | BIT(3) | BIT(4) | BIT(5) | BIT(6) | BIT(7)) << k;
            for (; k < height; ++k, here += columns)
                for (uint j = 0; j < width; ++j)
                    made[j] |= BIT(0) << k;
            for (uint j = 0; j < width; ++j)
                to[j] = made[j];
            if (word == 0)
                for (uint j = 0; j < width; ++j)
                    (to - columns)[j] = first_row > 0 && COVERED((cells - columns)[j], level) ? 1u << 31 : 0;
        }
    }
}
