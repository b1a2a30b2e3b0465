<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// rings_ends: the runs of covered cells from the words of rings_bits, and the first run of each row.
//
//   bits      . # # # | # . # .       a word; a run's last cell may be in a later word than its first one
//   firsts    | 0     | 1             number of the first run that begins in each word: the scan of the counts
//   lefts       1         6           columns of the first and of the last cell of each run
//   rights      4         6
//
// Reads 8 bytes for 32 cells of a level, writes 16 bytes a run.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#include "rings/items.h"

inline uint lowest_bit(uint word)
{
    return 31 - clz(word & -word);
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rings_ends(global const uint *bits, global const uint *firsts, const uint n, const uint words, global uint *starts,
                global int *lefts, global int *rights, global uint *row_of, global uint *parents)
{
    const range_t items = items_of(n);
    for (uint i = items.begin; i < items.end; i += items.stride) {
        const uint own = bits[i], line = i / words, word = i % words;
        uint run = firsts[i];
        if (word == 0)
            starts[line] = run;
        if (i == n - 1)
            starts[line + 1] = firsts[n];
        const uint before = word > 0 ? bits[i - 1] >> 31 : 0, after = word + 1 < words ? bits[i + 1] & 1 : 0;
        uint ending = run - (own & before);   // the run that is open where the word begins
        for (uint begins = own & ~(own << 1 | before); begins; begins &= begins - 1) {
            lefts[run] = 32 * word + lowest_bit(begins);
            row_of[run] = line;
            parents[run] = run;
            ++run;
        }
        for (uint ends = own & ~(own >> 1 | after << 31); ends; ends &= ends - 1)
            rights[ending++] = 32 * word + lowest_bit(ends);
    }
}
