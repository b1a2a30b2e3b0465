<%page args="seams=False, variant='group', wg_size=256, items_per_thread=1"/>\
// classes_unite: runs of one class that touch in neighbouring rows get one root, which is the first run of their face.
//
//   row y - 1   | a a a | b b |     where cells over each other are equal, their runs are united once: at the first such cell
//   row y       | c | a a a a |     beside a side
//
// Groups unite all rows at once (classes/unite.h). On CPUs a work-item takes a share of neighbouring lines, whose runs no
// other one takes, so that nothing is atomic; a second launch, with `seams`, unites the first rows of shares with the last
// ones of the shares before.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define SERIAL ${int(variant == "serial")}
#define SEAMS ${int(seams)}
#include "classes/lines.h"
#include "classes/unite.h"
#include "rings/items.h"

% if variant == "serial" and not seams:
inline uint root_above(global uint *parents, uint one)
{
    while (parents[one] != one)
        one = parents[one] = parents[parents[one]];
    return one;
}

inline void join(global uint *parents, uint a, uint b)
{
    a = root_above(parents, a);
    b = root_above(parents, b);
    parents[max(a, b)] = min(a, b);
}
% else:
#define join unite
% endif

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void classes_unite(global const uint4 *planes, global const ulong *runs, global const uint *valid, const uint all,
                   const uint words, const uint lines, const uint columns,
                   ${"" if variant == "serial" and not seams else "volatile "}global uint *parents)
{
#if SERIAL
    const range_t share = items_of(all);
    if (share.begin >= share.end)
        return;
    const uint begin = SEAMS ? share.begin : share.begin + 1, end = SEAMS ? share.begin + 1 : share.end;
    for (uint line = begin; line < end; ++line) {
#else
    const range_t items = items_of(all * words);
    for (uint i = items.begin; i < items.end; i += items.stride) {
        const uint line = i / words;
#endif
        const uint row = line % lines;
        if (row == 0 || row + 1 == lines)
            continue;
#if SERIAL
        for (uint at = line * words; at < (line + 1) * words; ++at) {
#else
        {
            const uint at = i;
#endif
            const uint4 own = planes[at], above = planes[at - words];
            const uint before = (uint)(runs[at - words] >> 32) - 1, here = (uint)(runs[at] >> 32) - 1, word = at % words;
            const uint above_begins = begins_of(above, word, columns), own_begins = begins_of(own, word, columns);
            uint left = ~(own.z | own.w) & (above_begins | own_begins) & valid[at];
            for (; left; left &= left - 1) {
                const uint upto = left ^ (left - 1);   // the lowest bit and those below
                join(parents, before + bit_count(above_begins & upto), here + bit_count(own_begins & upto));
            }
        }
    }
}
