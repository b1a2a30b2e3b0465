<%page args="value='int', lanes=1, free=False, path=False, variant='group', wg_size=64, items_per_thread=1"/>\
// align_fronts: best alignments of pairs with affine gaps, in work that grows with their cost and not with the table.
// Scores are turned into costs: a match 0, others more than 0. A group, or on CPUs a work-item, takes a pair at a time.
//
//            b  -->              diagonal k = j - i; front c has, for each diagonal, the row of the furthest cell that
//   a  | .\ .  .\ .  . |         costs at most c. It is made of earlier fronts:
//   |  | .  .\ .  .\ . |           gap of a  E[c][k] = max(E[c - extend][k + 1], H[c - open - extend][k + 1]) + 1
//   v  | .  .  .\ .  .\|           gap of b  F[c][k] = max(F[c - extend][k - 1], H[c - open - extend][k - 1])
//        front 0  front 5          H[c][k] = max(H[c - 1][k], H[c - mismatch][k] + 1, E[c][k], F[c][k])
//                                and goes on along its diagonal as long as letters are equal.
//
// Cells beyond the reach of a front have NEVER, of which `room` are written on both sides. With `path` all fronts of H
// are kept, else those that are read again. A pair whose cost would be too much work gets the cost -1.
// Work: about 20 instructions and four letters of both sequences for a diagonal of a front; nine cells are read and written.
// Source: S. Marco-Sola et al., Fast gap-affine pairwise alignment using the wavefront algorithm, Bioinformatics 37
// (2021) 456. E. Ukkonen, Algorithms for approximate string matching, Information and Control 64 (1985) 100.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define LANES ${lanes}
#define FREE ${int(free)}
#define PATH ${int(path)}
typedef ${value} cell_t;
#define NEVER ${-16384 if value == "short" else -(1 << 30)}
% if lanes > 1:
typedef ${value}${lanes} cells_t;
typedef ${value}${lanes} loose_t __attribute__((aligned(${2 if value == "short" else 4})));
#define LOAD(p) (*(global const loose_t *)(p))
#define STORE(v, p) (*(global loose_t *)(p) = (v))
#define ANY(mask) any(mask)
#define EQUAL(v) convert_${value}8(-((v << 24 == 0) + (v << 16 == 0) + (v << 8 == 0) + (v == 0)))   // of four letters
typedef struct __attribute__((packed)) { uint word; } four_t;
#define FOUR(p) (((global const four_t *)(p))->word)
#define SELECT(x, y, mask) select(x, y, mask)
#define NUMBERS (cells_t)(${", ".join(map(str, range(lanes)))})
% else:
typedef int cells_t;
#define LOAD(p) ((int)*(p))
#define STORE(v, p) (*(p) = (v))
#define SELECT(x, y, mask) ((mask) ? (y) : (x))
#define NUMBERS 0
% endif
#if WG_SIZE > 1
#define MEET() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#else
#define MEET()
#endif
#define LETTER_BYTES 1
#define WORDS_APART ${int(lanes > 1)}
#include "sequences/fronts.h"
#include "sequences/align_fronts.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void align_fronts(global const uchar *a, global const uchar *b, global const uchar *codes, const int mismatch,
                  const int gap_open, const int gap_extend, const int border, const int free_ends, global const uint *jobs,
                  const uint count, const int room, const int stride, const int zero, const uint letters_room,
                  global uchar *letters, global cell_t *cells, const ulong cells_room, global cell_t *gaps,
                  global long *bases, const uint bases_room, global int *results, global uchar *operations,
                  global uint *status)
{
#if WG_SIZE > 1 && FREE
    local int least_whole[2];   // of fronts of even and of odd costs
    local end_t ends[WG_SIZE];
#endif
    const costs_t costs = {mismatch, gap_open, gap_extend, border, free_ends};
    const int item = get_local_id(0), opened = gap_open + gap_extend;
    const size_t group = get_group_id(0);
    const ulong first_a = group * 2 * letters_room, first_b = first_a + letters_room;
    global uchar *own_a = letters + first_a, *own_b = letters + first_b;
    // rows of E and of F, and one that nothing has reached
    global cell_t *own_e = gaps + group * (2 * gap_extend + 3) * stride + zero;
    global cell_t *own_f = own_e + (size_t)(gap_extend + 1) * stride, *never = own_f + (size_t)(gap_extend + 1) * stride;
    for (int k = item; k < stride; k += WG_SIZE)
        never[k - zero] = NEVER;
    uint wrong = 0;
    for (uint number = group; number < count; number += get_num_groups(0)) {
        const pair_t pair = pair_of(jobs, number);
        const int n = pair.n, m = pair.m;
        const fronts_t fronts = {cells + group * cells_room, bases + group * bases_room, n, m, room,
                                 max(mismatch, opened) + 1, stride, zero};
        for (int i = item; i < n + STOPS; i += WG_SIZE) {
            const uchar code = i < n ? codes[a[pair.a_begin + i]] : A_STOP;
            wrong |= code == UNKNOWN;
            own_a[i] = code;
        }
        for (int j = item; j < m + STOPS; j += WG_SIZE) {
            const uchar code = j < m ? codes[(pair.b_step > 0 ? 256 : 512) + b[(uint)(pair.b_begin + pair.b_step * j)]]
                                     : B_STOP;
            wrong |= code == UNKNOWN;
            own_b[j] = code;
        }
        end_t end = {INT_MAX, 0, 0, 0};
        front_t front = first_front(costs, pair);
        bool is_known = false, goes_on = next_front(&front, costs, pair, fronts, cells_room);
        int check = pair.check, gap_row = 0;
#if WG_SIZE > 1 && FREE
        if (item == 0)
            least_whole[0] = least_whole[1] = INT_MAX;
#endif
        MEET();
        while (goes_on) {
            const int cost = front.cost, least = front.least, most = front.most;
#if PATH
            if (item == 0)
                fronts.bases[cost] = front.base;
#endif
            global cell_t *row = fronts.cells + front.base;
            global const cell_t *before = cost > 0 ? front_of(fronts, SLOT(front, fronts, 1)) : never;
            global const cell_t *changed = cost >= mismatch ? front_of(fronts, SLOT(front, fronts, mismatch)) : never;
            global const cell_t *open = cost >= opened ? front_of(fronts, SLOT(front, fronts, opened)) : never;
            // rows of gaps of this cost, and of those a letter shorter
            global cell_t *row_e = own_e + (size_t)gap_row * stride, *row_f = own_f + (size_t)gap_row * stride;
            gap_row = gap_row < gap_extend ? gap_row + 1 : 0;
            const bool has_gaps = cost >= gap_extend;
            global const cell_t *longer_e = has_gaps ? own_e + (size_t)gap_row * stride : never;
            global const cell_t *longer_f = has_gaps ? own_f + (size_t)gap_row * stride : never;
            // diagonals of borders that cost this much; without free begins the corner
            int border_a = NEVER, border_b = cost == 0 ? 0 : NEVER;
#if FREE
            if (cost > 0 && border > 0 && cost % border == 0) {
                border_a = free_ends & A_BEGIN ? -cost / border : NEVER;
                border_b = free_ends & B_BEGIN ? cost / border : NEVER;
            }
            const bool all_borders = border == 0 && cost == 0;
#endif
            for (int k = least + item * LANES; k <= most; k += WG_SIZE * LANES) {
                const cells_t last = LOAD(before + k);
                const cells_t diagonal = (cells_t)(cell_t)k + NUMBERS;
                const cells_t limit = min((cells_t)(cell_t)n, (cells_t)(cell_t)m - diagonal);
                const cells_t e = min(max(LOAD(longer_e + k + 1), LOAD(open + k + 1)) + (cells_t)1, limit);
                const cells_t f = min(max(LOAD(longer_f + k - 1), LOAD(open + k - 1)), limit);
                cells_t now = max(max(last, min(LOAD(changed + k) + (cells_t)1, limit)), max(e, f));
                STORE(e, row_e + k);
                STORE(f, row_f + k);
                now = max(now, SELECT((cells_t)NEVER, (cells_t)0, diagonal == (cells_t)(cell_t)border_b));
#if FREE
                now = max(now, SELECT((cells_t)NEVER, -diagonal, diagonal == (cells_t)(cell_t)border_a));
                if (all_borders)
                    now = max(now, SELECT((cells_t)NEVER, min(max(-diagonal, (cells_t)0), limit), diagonal <= (cells_t)(cell_t)most));
#endif
#if LANES > 1
                const cells_t grown = (now > last) & (now >= (cells_t)0);
                // four letters of all lanes, then more of those in which they are equal
                const cells_t row_of = SELECT((cells_t)0, now, grown), column_of = SELECT((cells_t)0, now + diagonal, grown);
% for w in range(lanes // 8):
                const uint8 differs${w} = (uint8)(${", ".join(f"FOUR(own_a + row_of.s{l:x}) ^ FOUR(own_b + column_of.s{l:x})" for l in range(8 * w, 8 * w + 8))});
% endfor
                const cells_t equal = (cells_t)(${", ".join(f"EQUAL(differs{w})" for w in range(lanes // 8))});
                now += SELECT((cells_t)0, equal, grown);
                STORE(now, row + k);
                cells_t again = grown & (equal == (cells_t)4);
#if FREE
                again |= grown & (now == limit);
#endif
                if (!ANY(again))
                    continue;
                const ulong${lanes // 8 if lanes > 8 else ""} mask = as_ulong${lanes // 8 if lanes > 8 else ""}(convert_char${lanes}(again));
% for w in range(lanes // 8):
                for (ulong left = mask${f".s{w}" if lanes > 8 else ""} & 0x0101010101010101UL; left; left &= left - 1) {
                    const int one = k + ${8 * w} + (63 - (int)clz(left & -left)) / 8;
                    int i = row[one];
                    i += equal_ahead(letters, first_a + i, first_b + i + one, INT_MAX);
                    row[one] = i;
#if FREE
                    if (i == n || i + one == m)
                        note_end(&end, costs, pair, i, one, cost);
#endif
                }
% endfor
#else
                if (now > last && now >= 0) {
                    now += equal_ahead(letters, first_a + now, first_b + now + k, INT_MAX);
#if FREE
                    if (now == n || now + k == m)
                        note_end(&end, costs, pair, now, k, cost);
#endif
                }
                row[k] = now;
#endif
            }
            for (int k = item * LANES; k < room; k += WG_SIZE * LANES) {
                const cells_t nothing = (cells_t)(cell_t)NEVER;
                STORE(nothing, row + least - room + k);
                STORE(nothing, row_e + least - room + k);
                STORE(nothing, row_f + least - room + k);
                STORE(nothing, row + most + 1 + k);
                STORE(nothing, row_e + most + 1 + k);
                STORE(nothing, row_f + most + 1 + k);
            }
#if WG_SIZE > 1 && FREE
            atomic_min(&least_whole[cost & 1], end.whole);
#endif
            MEET();
#if !FREE
            if (m - n >= least && m - n <= most && row[m - n] == n)
                note_end(&end, costs, pair, n, m - n, cost);
            is_known = end.whole <= cost;
#elif WG_SIZE > 1
            is_known = least_whole[cost & 1] <= cost;
#else
            is_known = end.whole <= cost;
#endif
            goes_on = !is_known;
            if (goes_on && cost == check) {
                int left = INT_MAX;
                for (int k = least; k <= most; ++k)
                    left = min(left, letters_left(costs, n, m, row[k], k));
                const long all = letters_left(costs, n, m, 0, 0);
                goes_on = cost * all <= pair.most * (all - left);   // else going on as up to here costs too much
                check += check / 2 + 1;
            }
            goes_on = goes_on && next_front(&front, costs, pair, fronts, cells_room);
        }
#if WG_SIZE > 1 && FREE
        ends[item] = end;
        MEET();
        if (item == 0)
            for (int other = 1; other < WG_SIZE; ++other) {
                const end_t one = ends[other];
                if (is_better(one, end))
                    end = one;
            }
#endif
        if (item == 0) {
            global int *result = results + 6 * (size_t)pair.slot;
            result[0] = is_known ? end.whole : -1;
            result[1] = end.i;
            result[2] = end.j;
#if PATH
            result[3] = result[4] = result[5] = 0;
            if (is_known)
                trace(costs, fronts, own_a, own_b, end.i, end.j, end.cost, operations + pair.end, result + 3);
#endif
        }
        MEET();
    }
    if (wrong)
        status[0] = 1;
}
