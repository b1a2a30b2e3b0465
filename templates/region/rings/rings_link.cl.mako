<%page args="cut=True, variant='group', wg_size=256, items_per_thread=1"/>\
// rings_link: for each end of a run, the end that follows on the boundary of the covered cells.
//
//   y - 1   .  .  # # # # .        The left side of a run (edge 2 i) goes up, its right side (edge 2 i + 1) down, so the
//   ------------o=======o---       covered cells are inside an outer ring that turns from +x to +y. On the line between two
//   y       . # # # .  .  .        rows the boundary goes along x to the nearest end of a run of either row: two corners.
//                                  Where ends of both rows are at one position, and nothing is to the other side, it goes on.
//
// Where two cells share only a corner (a saddle) the boundary turns round each of them, unless they are in one connected
// part (cells that share sides): then round the uncovered cells. So no ring passes a position twice.
// turns[edge] says whether the edge ends at two corners (else the boundary goes straight on), which of them are at saddles,
// and with `cut` which edges begin chains: see rings/chains.h.
// Reads each run with its neighbours in both rows: a step along the rows on CPUs, a bisection elsewhere.
#define CLGEOM_SERIAL ${int(variant == "serial")}
#define CUTS ${int(cut)}
#include "portable.h"
#define WG_SIZE ${wg_size}
#include "rings/chains.h"

// The first of the runs from `low` to `high` whose last cell is at `column` or after it.
inline uint first_reaching(global const int *rights, uint low, uint high, int column)
{
#if CLGEOM_SERIAL
    while (low < high && rights[low] < column)
        ++low;
#else
    while (low < high) {
        const uint middle = low + (high - low) / 2;
        if (rights[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
#endif
    return low;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void rings_link(global const int *lefts, global const int *rights, global const uint *row_of,
                global const uint *starts, global const uint *roots, const uint n, const uint rows,
                global uint *following, global uchar *turns)
{
#if CLGEOM_SERIAL
    const uint share = (n + get_global_size(0) - 1) / get_global_size(0);
    const uint begin = min(get_global_id(0) * share, (size_t)n), end = begin + min(share, n - begin), stride = 1;
#else
    const uint begin = get_global_id(0), end = n, stride = get_global_size(0);
#endif
    uint row = 0xffffffff, first = 0, last = 0;
    uint above = 0, above_first = 0, above_end = 0, below = 0, below_first = 0, below_end = 0;
    for (uint i = begin; i < end; i += stride) {
        const int left = lefts[i], right = rights[i] + 1;
        if (row_of[i] != row) {
            row = row_of[i];
            first = starts[row];
            last = starts[row + 1];
            above_first = row % rows ? starts[row - 1] : first;
            above_end = first;
            below_first = last;
            below_end = (row + 1) % rows ? starts[row + 2] : last;
            above = above_first;
            below = below_first;
        }
        uint next, bits;
#if CUTS
        const uint begins = row % CUT_ROWS == 0 ? FIRST : 0;
#endif

        // down the right side, to the line below: run `below` is the first there that reaches the cell under the run's end
        below = first_reaching(rights, ${"below" if variant == "serial" else "below_first"}, below_end, right - 1);
        {
            const int under = below < below_end && lefts[below] <= right - 1;
            uint beyond = below + (under && rights[below] == right - 1);
            const int beside = under ? rights[below] >= right : beyond < below_end && lefts[beyond] == right;
            if (under && !beside) {
                next = 2 * below + 1;
                bits = 0;
            } else {
                const int saddle = !under && beside, onwards = beside && (under || roots[i] == roots[below]);
                bits = CORNERS | (saddle ? SADDLE : 0);
                if (onwards) {               // along +x, above the run below
                    const int turn = i + 1 < last ? lefts[i + 1] : INT_MAX, stop = rights[below] + 1;
                    const int joined = turn == stop && roots[i + 1] == roots[below];
                    next = turn < stop || joined ? 2 * (i + 1) : 2 * below + 1;
                    bits |= turn == stop ? SECOND_SADDLE : 0;
                } else {                     // along -x, below the run itself
                    const int turn = below > below_first ? rights[below - 1] + 1 : INT_MIN;
                    const int joined = turn == left && roots[i] == roots[below - (below > below_first)];
                    next = turn > left || joined ? 2 * (below - 1) + 1 : 2 * i;
                    bits |= turn == left ? SECOND_SADDLE : 0;
                }
            }
            following[2 * i + 1] = next;
            turns[2 * i + 1] = bits${" | begins" if cut else ""};
        }

        // up the left side, to the line above: the same, turned by half. Run `above` - 1 is the last there that begins at
        // the run's first cell or before it
        above = first_reaching(rights, ${"above" if variant == "serial" else "above_first"}, above_end, left);
        {
            const int over = above < above_end && lefts[above] <= left;
            const uint over_end = above + over;   // the runs before it begin at `left` or before
            const int beside = over ? lefts[above] < left : above > above_first && rights[above - 1] == left - 1;
            const uint before = over_end - 1;     // the last of these runs, if there is one
            if (over && !beside) {
                next = 2 * before;
                bits = 0;
            } else {
                const int saddle = !over && beside, onwards = beside && (over || roots[i] == roots[before]);
                bits = CORNERS | (saddle ? SADDLE : 0);
                if (onwards) {               // along -x, below the run above
                    const int turn = i > first ? rights[i - 1] + 1 : INT_MIN, stop = lefts[before];
                    const int joined = turn == stop && roots[i - 1] == roots[before];
                    next = turn > stop || joined ? 2 * (i - 1) + 1 : 2 * before;
                    bits |= turn == stop ? SECOND_SADDLE : 0;
                } else {                     // along +x, above the run itself
                    const int turn = over_end < above_end ? lefts[over_end] : INT_MAX;
                    const int joined = turn == right && roots[i] == roots[over_end];
                    next = turn < right || joined ? 2 * over_end : 2 * i + 1;
                    bits |= turn == right ? SECOND_SADDLE : 0;
                }
            }
            following[2 * i] = next;
#if CUTS
            // the top of covered cells, whose left side is less than the right one; or of uncovered ones
            bits |= begins | (next == 2 * i + 1 ? FIRST : 0) | (next == 2 * i - 1 ? FIRST_NEXT : 0);
#endif
            turns[2 * i] = bits;
        }
    }
}
