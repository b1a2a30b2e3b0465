<%page args="value='float', threshold='float', below=False, nodata=False, by_bits=False, variant='group', wg_size=256, items_per_thread=1"/>\
// rings_bits: for every map, level and row a bit for each cell, whether it is covered, and the runs that begin in each word.
//
//   raster    | 32 cells of word 0 | of word 1 | ..      a group takes WG_SIZE words, neighbours read neighbouring cells;
//   reached     level bits of each cell, a byte          .. then a work-item gathers the words of its 32 bytes
//   bits      | word 0 | word 1 | ..                     `words` words a row; rows of a level, levels of a map, maps
//   counts    |   2    |   0    | .. | 0                 runs that begin in each word, and 0 at the end
//
// Reads every value once for 8 levels; writes 8 bytes for 32 cells of a level. On CPUs rings_runs reads the rows itself.
#include "portable.h"
#define VALUE ${value}
#define THRESHOLD ${threshold}
#define BELOW ${int(below)}
#define NODATA ${int(nodata)}
#define BY_BITS ${int(by_bits)}
#include "coverage/covered.h"
#define WG_SIZE ${wg_size}
#define LEVELS 8          // levels of a byte
#define STRIDE 9          // uchar4 from word to word: work-items then read different banks

inline uint reached_of(VALUE cell, global const THRESHOLD *thresholds, uint levels, THRESHOLD nodata)
{
    uint found = 0;
    for (uint level = 0; level < levels; ++level)
        found |= (uint)COVERED(cell, thresholds[level]) << level;
    return found;
}

// Rows `first_row` .. of each map; the first of them begins at `start`. There are `all` words for all pieces.
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rings_bits(global const VALUE *restrict raster, const ulong start, const uint maps, const uint first_row,
                const uint rows, const uint all_rows, const uint columns, const uint first_map, const uint levels,
                global const THRESHOLD *thresholds, const THRESHOLD nodata, const uint words, const uint all,
                global uint *bits, global uint *counts)
{
    local uchar4 reached[STRIDE * WG_SIZE];
    local ulong begins[WG_SIZE];
    local uint lengths[WG_SIZE];
    local uchar *const bytes = (local uchar *)reached;
    const uint lid = get_local_id(0), n = maps * rows * words;
    for (uint base = get_group_id(0) * WG_SIZE; base < n; base += get_global_size(0)) {
        const uint own = min(base + lid, n - 1), line = own / words, word = own % words;
        begins[lid] = start + (ulong)line * columns + 32 * word;
        lengths[lid] = min(columns - 32 * word, 32u);
        for (uint first = 0; first < levels; first += LEVELS) {
            const uint some = min(levels - first, (uint)LEVELS);
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint cell = lid; cell < 32 * WG_SIZE; cell += WG_SIZE) {
                const uint at = cell / 32, bit = cell % 32;
                bytes[4 * STRIDE * at + bit] =
                    bit < lengths[at] ? reached_of(raster[begins[at] + bit], thresholds + first, some, nodata) : 0;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (base + lid < n) {
                uint before = 0, fours[8];
                if (word > 0)
                    before = lid > 0 ? bytes[4 * STRIDE * (lid - 1) + 31]
                                     : reached_of(raster[begins[0] - 1], thresholds + first, some, nodata);
                for (uint k = 0; k < 8; ++k) {
                    const uint4 four = convert_uint4(reached[STRIDE * lid + k]);
                    fours[k] = four.x | four.y << 8 | four.z << 16 | four.w << 24;
                }
                const uint map = first_map + line / rows, row = first_row + line % rows;
                for (uint level = 0; level < some; ++level) {
                    uint made = 0;
                    for (uint k = 0; k < 8; ++k)   // the product brings the four bits together
                        made |= ((fours[k] >> level & 0x01010101u) * 0x01020408u >> 24 & 15) << 4 * k;
                    const uint to = ((map * levels + first + level) * all_rows + row) * words + word;
                    bits[to] = made;
                    counts[to] = popcount(made & ~(made << 1 | (before >> level & 1)));
                }
            }
        }
        if (base + lid == 0)
            counts[all] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
