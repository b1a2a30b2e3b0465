<%page args="letter='uchar', grid=False, variant='group', wg_size=64, items_per_thread=1"/>\
// pairs_jaro: common letters, letters out of order, and common first letters of pairs of sequences, for Jaro's and
// Winkler's similarities: three integers a pair.
//
//   rows' letters      in BUCKETS lists by their last bits, in their order; taken ones leave their list
//   columns' letters   one after the other, each takes the first equal letter of its list that is within reach: those
//                      before reach leave the list, as no later letter reaches them
//   links              for each item in use, for each letter of the rows the next one of its list or TAKEN, and then the
//                      letters of the columns that have taken one
//
// rows, columns: begin and length. grid: pair p is that of row p / width and column p % width; else of row and column p.
// Cost: both lengths, and more where different letters share lists. Sources: as of matrix_jaro.
#define WG_SIZE ${wg_size}
#define BUCKETS 32
#define TAKEN UINT_MAX
#include "portable.h"
#if WG_SIZE == 1
#define LINK(at) links[(ulong)gid * each + (at)]
#else
#define LINK(at) links[(ulong)(at) * items + gid]
#endif
#define HEAD(letter) heads[(letter) % BUCKETS * WG_SIZE + lid]     // a position + 1, 0: none

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void pairs_jaro(global const ${letter} *letters, global const uint *rows, global const uint *columns, const uint width,
                const uint first, const uint stop, const uint items, const uint room, const uint each,
                global uint *links, global int *out)
{
    local uint heads[BUCKETS * WG_SIZE];
    const uint gid = get_global_id(0), lid = get_local_id(0);
    for (ulong p = gid < items ? first + gid : stop; p < stop; p += items) {
        const ulong row = ${"p / width" if grid else "p"}, column = ${"p % width" if grid else "p"};
        global const ${letter} *a = letters + rows[2 * row], *b = letters + columns[2 * column];
        const uint n = rows[2 * row + 1], m = columns[2 * column + 1];
        const uint reach = max(max(n, m) / 2, 1u) - 1;
        for (uint k = 0; k < BUCKETS; ++k)
            HEAD(k) = 0;
        for (uint i = n; i > 0; --i) {
            LINK(i - 1) = HEAD(a[i - 1]);
            HEAD(a[i - 1]) = i;
        }
        uint common = 0, wrong = 0, same = 0;
        for (uint j = 0; j < m; ++j) {
            const ${letter} wanted = b[j];
            uint at = HEAD(wanted), before = 0;
            while (at != 0 && at + reach <= j)
                at = LINK(at - 1);
            HEAD(wanted) = at;
            while (at != 0 && at - 1 <= j + reach && a[at - 1] != wanted) {
                before = at;
                at = LINK(at - 1);
            }
            if (at != 0 && at - 1 <= j + reach) {
                if (before != 0)
                    LINK(before - 1) = LINK(at - 1);
                else
                    HEAD(wanted) = LINK(at - 1);
                LINK(at - 1) = TAKEN;
                LINK(room + common++) = wanted;
            }
        }
        for (uint i = 0, k = 0; k < common; ++i)
            if (LINK(i) == TAKEN)
                wrong += a[i] != LINK(room + k++);
        while (same < min(min(n, m), 4u) && a[same] == b[same])
            ++same;
        out[3 * p] = common;
        out[3 * p + 1] = wrong;
        out[3 * p + 2] = same;
    }
}
