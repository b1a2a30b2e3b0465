<%page args="problem='edit', letter_bytes=1, keep=False, variant='group', wg_size=64, items_per_thread=1"/>\
// edit_fronts: edit distances of related pairs, from the furthest points of diagonals of the table; a group a pair.
//
//        b       front p: of each diagonal k = column - row the furthest row that p edits reach from the corner,
//     \ . . .    -p <= k <= p. Fronts grow from both corners in turn, until one of p edits and one of q have a cell in
//   a  \\ . .    common: the distance is d = p + q. For lcs there are no changes, and d = n + m - 2 * length.
//      .\\\ .
//      . .\\\    d * d / 2 points in all, and for each a comparison of letters by words.
//
// Where d is more than the pair's limit, `out` gets the negated d that the reached letters let expect, beyond the limit.
//
// Along a diagonal distances from the first corner do not fall, so fronts from there tell those of all cells that matter to
// the traceback, which chooses as that of a table does. With `keep` all fronts are stored. The last one of the first half
// grows on to the end, only from points that the fronts from the other corner show to lie on a shortest path, and the new
// fronts overwrite those. `all_edits` gets the operations from 1 to d, each with 4 times the matches behind it; before, those of
// the beginning.
// Sources: Ukkonen, "Algorithms for approximate string matching" (1985); Myers, "An O(ND) difference algorithm and its
// variations" (1986).
#define WG_SIZE ${wg_size}
#define EDIT ${int(problem == "edit")}
#define KEEP ${int(keep)}
#define LETTER_BYTES ${letter_bytes}
#define WORDS_APART ${int(variant == "serial")}
#include "portable.h"
#include "sequences/fronts.h"
#define NONE (-(1 << 30))                                          // no point on a diagonal
#define FRONT(side, p) (fronts + (side) * pitch + FRONT_AT(p))     // diagonal 0 of a front from either corner
#if KEEP
#define FRONT_AT(p) ((ulong)(p) * ((p) + 5) + 2)                   // two places beyond its ends
#else
#define FRONT_AT(p) ((p) % 2 * (pitch / 2) + pitch / 4)
#endif
// The row that one edit more reaches: from its diagonal, the next one (deletion), the one before (insertion).
#if EDIT
#define FURTHER(same, next, before) MAX(MAX(same, next) + 1, before)
#else
#define FURTHER(same, next, before) MAX((next) + 1, MAX(same, before))
#endif
#define MAX(x, y) ((x) < (y) ? (y) : (x))                          // LLVM vectorises these, and not all built-in ones
#define MIN(x, y) ((y) < (x) ? (y) : (x))

inline void end_front(global int *front, const int low, const int high)
{
    front[low - 2] = front[low - 1] = front[high + 1] = front[high + 2] = NONE;
}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void edit_fronts(letters_t letters, global const uint *jobs, const uint count, global int *memory, const ulong pitch,
                 global int *out, global uint *all_edits, const uint most)
{
    local int met, reach[2], low_of[3], high_of[3];
    const int lid = get_local_id(0);
    global int *fronts = memory + get_group_id(0) * pitch * 2;
    for (uint pair = get_group_id(0); pair < count; pair += get_num_groups(0)) {
        global const uint *job = jobs + 5 * (ulong)pair;           // first letter and length of both, limit
        const ulong a = job[0], b = job[2], a_end = a + job[1], b_end = b + job[3];
        const int n = job[1], m = job[3], limit = job[4], last = m - n;
        if (lid == 0) {
            FRONT(0, 0)[0] = equal_ahead(letters, a, b, MIN(n, m));
            FRONT(1, 0)[0] = equal_behind(letters, a_end, b_end, MIN(n, m));
            end_front(FRONT(0, 0), 0, 0);
            end_front(FRONT(1, 0), 0, 0);
            met = last == 0 && FRONT(0, 0)[0] == n ? 0 : -1;
            reach[0] = reach[1] = 0;
            low_of[0] = INT_MAX;
            high_of[0] = INT_MIN;
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        int d = 0;
        while (met != d && d < limit) {                            // a group's items may be one front ahead, and set `met`
            ++d;
            const int p = (d + 1) / 2, q = d - p, low = MAX(-p, -n), high = MIN(p, m);
            bool meets = false;
% for side in (0, 1):
            ${"else" if side else "if (d % 2)"} {
                global const int *old = FRONT(${side}, p - 1), *other = FRONT(${1 - side}, q) + last;
                global int *front = FRONT(${side}, p);
                for (int k = low + lid; k <= high; k += WG_SIZE) {
                    const int further = FURTHER(old[k], old[k + 1], old[k - 1]), end = MIN(n, m - k);
                    int i = MIN(further, end);
% if variant == "serial":
                    front[k] = i;
                }
                for (int k = low; k <= high; ++k) {
                    int i = front[k];
% endif
% if side:
                    i += equal_behind(letters, a_end - i, b_end - i - k, MIN(n, m - k) - i);
% else:
                    i += equal_ahead(letters, a + i, b + i + k, MIN(n, m - k) - i);
% endif
                    front[k] = i;
% if variant == "serial":
                }
                for (int k = MAX(low, last - q); k <= MIN(high, last + q); ++k)
                    meets |= front[k] + other[-k] >= n;
% else:
                    if (k >= last - q && k <= last + q)
                        meets |= i + other[-k] >= n;
                }
% endif
                if (lid == 0)
                    end_front(front, low, high);
            }
% endfor
            if (meets)
                met = d;
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        }
        // PoCL copies what follows a barrier in a branch: there is none
        const int p = (d + 1) / 2, q = d - p;
        const bool solved = met == d;
        for (int side = 0; side < 2 && !solved; ++side) {
            const int edits_of = side ? q : p;
            int most = 0;
            for (int k = MAX(-edits_of, -n) + lid; k <= MIN(edits_of, m); k += WG_SIZE)
                most = MAX(most, 2 * FRONT(side, edits_of)[k] + k);
            atomic_max(&reach[side], most);
        }
#if KEEP
        // front q of the other half becomes front p of the first one, by the diagonal from the last corner
        global int *front = FRONT(1, q);
        int low = MAX(-q, -n), high = MIN(q, m);
        for (int k = low + lid; k <= high && solved; k += WG_SIZE) {
            const int i = last - k >= MAX(-p, -n) && last - k <= MIN(p, m) ? FRONT(0, p)[last - k] : NONE;
            front[k] = i + front[k] >= n ? i : NONE;
        }
#endif
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        if (lid == 0) {
            const long expected = (long)limit * (n + m) / (reach[0] + reach[1] + 1);
            out[pair] = solved ? d : -(int)MIN(MAX(expected, (long)limit + 1), INT_MAX);
        }
#if KEEP
        for (int left = solved ? q - 1 : -1, turn = 0; left >= 0; --left, turn = (turn + 1) % 3) {
            global const int *old = front;
            int lowest = INT_MAX, highest = INT_MIN;
            front = FRONT(1, left);
            low = MAX(MAX(low - 1, -left), -n);
            high = MIN(MIN(high + 1, left), m);
            for (int k = low + lid; k <= high; k += WG_SIZE) {
                const int further = FURTHER(old[k], old[k - 1], old[k + 1]), end = MIN(n, m - last + k);
                int i = MIN(further, end);
                if (i >= 0)
                    i += equal_ahead(letters, a + i, b + i + last - k, end - i);
                const bool leads = i + front[k] >= n;
                front[k] = leads ? i : NONE;
                lowest = leads ? MIN(lowest, k) : lowest;
                highest = leads ? MAX(highest, k) : highest;
            }
            if (lowest <= highest) {
                atomic_min(&low_of[turn], lowest);
                atomic_max(&high_of[turn], highest);
            }
            if (lid == 0) {
                end_front(front, low, high);
                low_of[(turn + 1) % 3] = INT_MAX;                  // all have read it before the last barrier
                high_of[(turn + 1) % 3] = INT_MIN;
            }
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            low = low_of[turn];
            high = high_of[turn];
        }
        if (lid == 0 && solved) {
            global uint *edits = all_edits + (ulong)pair * (most + 1);
            int i = n, k = last;
            for (int e = d; ; --e) {
                const int run = equal_behind(letters, a + i, b + i + k, MIN(i, i + k));
                i -= run;
                if (e == 0) {
                    edits[0] = (uint)run << 2;
                    break;
                }
                const bool late = e > p;
                global const int *at = late ? FRONT(1, d - e + 1) + last - k : FRONT(0, e - 1) + k;
                const int next = late ? at[-1] : at[1];
                uint operation = 3;
                if (EDIT && i > 0 && i + k > 0 && at[0] >= i - 1)
                    operation = 1;
                else if (i > 0 && next >= i - 1)
                    operation = 2;
                edits[e] = (uint)run << 2 | operation;
                i -= operation < 3;
                k += operation == 2 ? 1 : operation == 3 ? -1 : 0;
            }
        }
#endif
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
}
