<%page args="index='uint', variant='group', wg_size=256, items_per_thread=1"/>\
// bin_sums: the sum of each bin's counts over the rows of bin_counts.
//
//   counts [ row 0: bin 0, bin 1 .. | row 1: .. ]      sums [ bin 0, bin 1 .. ]
//
// Reads rows * bins counts, writes a sum a bin.
#include "portable.h"
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "group/share.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void bin_sums(global const uint *counts, const uint rows, const uint bins, global ${index} *sums)
{
    EACH_OF(uint, b, bins, get_global_id(0), get_global_size(0)) {
        ${index} sum = 0;
        for (uint row = 0; row < rows; ++row)
            sum += counts[(ulong)row * bins + b];
        sums[b] = sum;
    }
}
