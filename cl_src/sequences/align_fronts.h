// align_fronts.h: what a front of align_fronts reaches, where it is kept, and the traceback through kept fronts. Whoever
// includes it has defined cell_t, NEVER, LANES, FREE and PATH, and includes fronts.h.
#define UNKNOWN 255     // code of a letter outside the alphabet
#define A_STOP 254      // codes beyond the ends of a and b: equal to no other
#define B_STOP 253
#define STOPS 16        // of each
#define JOB_WORDS 12
// bits of free_ends
#define A_BEGIN 1
#define B_BEGIN 2
#define A_END 4
#define B_END 8
// operations
#define MATCH 0
#define CHANGE 1
#define DELETE 2
#define INSERT 3

// Costs of a mismatch, of opening a gap, and of a letter in a gap; `border` of a letter left over at a free end.
typedef struct { int mismatch, open, extend, border, free_ends; } costs_t;

// A pair, the cost to give up at, the first one to look at the progress, and the end of its operations.
typedef struct { uint a_begin, b_begin; int b_step, n, m, most, check; uint slot, end; } pair_t;

// Fronts of a pair: front s has the cells of diagonals least_diagonal .. most_diagonal, `room` more on both sides; the
// cell of diagonal 0 is cells[bases[s]], or one of `ring` rows of `stride` cells in turn.
typedef struct { global cell_t *cells; global long *bases; int n, m, room, ring, stride, zero; } fronts_t;

inline pair_t pair_of(global const uint *jobs, const size_t number)
{
    global const uint *words = jobs + JOB_WORDS * number;
    const pair_t pair = {words[0], words[1], (int)words[2], (int)words[3], (int)words[4], (int)words[5], (int)words[6],
                         words[7], words[8]};
    return pair;
}

// The diagonals that a cost reaches, where one side has so many letters and its letters left over may be free.
inline int reach(const costs_t costs, const int cost, const int letters, const bool is_free)
{
    int far = cost < costs.open + costs.extend ? 0 : (cost - costs.open) / costs.extend;
    if (FREE && is_free)
        far = costs.border > 0 ? max(far, cost / costs.border) : letters;
    return min(far, letters);
}

inline int least_diagonal(const costs_t costs, const int cost, const int n)
{
    return -reach(costs, cost, n, costs.free_ends & A_BEGIN);
}

inline int most_diagonal(const costs_t costs, const int cost, const int m)
{
    return reach(costs, cost, m, costs.free_ends & B_BEGIN);
}

// The cell of diagonal 0 of a front: of a cost if all are kept, else in one of the rows that fronts take in turn.
inline global cell_t *front_of(const fronts_t fronts, const int number)
{
#if PATH
    return fronts.cells + fronts.bases[number];
#else
    return fronts.cells + (size_t)number * fronts.stride + fronts.zero;
#endif
}

// Twice the letters that are left from a cell to the end, or to the nearest free one.
inline int letters_left(const costs_t costs, const int n, const int m, const int i, const int k)
{
    const int rows = 2 * (n - i), columns = 2 * (m - i - k);
    if (FREE && (costs.free_ends & (A_END | B_END))) {
        const int by_b = costs.free_ends & B_END ? rows : INT_MAX, by_a = costs.free_ends & A_END ? columns : INT_MAX;
        return min(by_a, by_b);
    }
    return (rows + columns) / 2;
}

// The front that comes next: its cost and diagonals, where it is kept, the diagonals that gaps reach from the corner and
// the cost of one more, and those around the end's diagonal from which gaps reach the end without costing too much.
typedef struct { int cost, least, most; long base, next; int slot, reached, until, spare, rest; } front_t;

inline front_t first_front(const costs_t costs, const pair_t pair)
{
    const front_t front = {-1, 0, 0, 0, 0, -1, 0, costs.open + costs.extend, pair.most / costs.extend,
                           pair.most % costs.extend};
    return front;
}

// Go on to the next front. Returns whether there is one, and room for it.
inline bool next_front(front_t *front, const costs_t costs, const pair_t pair, const fronts_t fronts,
                       const ulong cells_room)
{
    if (++front->cost == front->until) {
        ++front->reached;
        front->until += costs.extend;
    }
    front->least = -min(front->reached, pair.n);
    front->most = min(front->reached, pair.m);
#if FREE
    front->least = least_diagonal(costs, front->cost, pair.n);
    front->most = most_diagonal(costs, front->cost, pair.m);
    if (!(costs.free_ends & (A_END | B_END)))
#endif
    {
        front->least = max(front->least, pair.m - pair.n - front->spare);
        front->most = min(front->most, pair.m - pair.n + front->spare);
        if (front->rest-- == 0) {
            --front->spare;
            front->rest = costs.extend - 1;
        }
    }
    bool has_room = true;
#if PATH
    front->base = front->next + fronts.room - front->least;
    front->next += front->most - front->least + 1 + 2 * fronts.room;
    has_room = front->next <= (long)cells_room;
#else
    front->slot = front->slot + 1 < fronts.ring ? front->slot + 1 : 0;
    front->base = (long)front->slot * fronts.stride + fronts.zero;
#endif
    return front->cost <= pair.most && front->least <= front->most && has_room;
}

// The front that costs so much less than another one, as `front_of` takes it.
#if PATH
#define SLOT(front, fronts, less) ((front).cost - (less))
#else
#define SLOT(front, fronts, less) ((front).slot - (less) + ((front).slot < (less) ? (fronts).ring : 0))
#endif

// The best end: its whole cost, its cell, and the cost of the cell.
typedef struct { int whole, i, j, cost; } end_t;

inline bool is_better(const end_t x, const end_t y)
{
    return x.whole < y.whole || (x.whole == y.whole && (x.i < y.i || (x.i == y.i && x.j < y.j)));
}

// Take a cell, unless it is no end, or no better one.
inline void note_end(end_t *end, const costs_t costs, const pair_t pair, const int i, const int k, const int cost)
{
    const int j = i + k;
    if (!((i == pair.n && (j == pair.m || (costs.free_ends & B_END))) || (j == pair.m && (costs.free_ends & A_END))))
        return;
    const end_t one = {cost + costs.border * (pair.n - i + pair.m - j), i, j, cost};
    if (is_better(one, *end))
        *end = one;
}

#if PATH
// Row of the furthest cell of a diagonal that a cost reaches, or NEVER.
inline int furthest(const costs_t costs, const fronts_t fronts, const int cost, const int k)
{
    if (k < least_diagonal(costs, cost, fronts.n) || k > most_diagonal(costs, cost, fronts.m))
        return NEVER;
    return front_of(fronts, cost)[k];
}

// The path to a cell of this cost, as the traceback through all choices has it: by a pair of letters if that gives the
// cost, else by the shortest gap of letters of a that does, else by that of b. A cell costs no less than those before it
// on its diagonal, so it costs at most c if front c reaches it; and a pair of equal letters always gives the cost.
// Writes the operations from `end` backwards, and begin and number of operations to `walk`.
inline void trace(const costs_t costs, const fronts_t fronts, global const uchar *a, global const uchar *b, int i, int j,
                  int cost, global uchar *end, global int *walk)
{
    int length = 0;
    while (i > 0 && j > 0) {
        if (a[i - 1] == b[j - 1]) {
            end[-(++length)] = MATCH;
            --i;
            --j;
            continue;
        }
        if (cost >= costs.mismatch && furthest(costs, fronts, cost - costs.mismatch, j - i) >= i - 1) {
            end[-(++length)] = CHANGE;
            cost -= costs.mismatch;
            --i;
            --j;
            continue;
        }
        int gap = 1, before = cost - costs.open - costs.extend;
        while (gap <= i && before >= 0 && furthest(costs, fronts, before, j - i + gap) < i - gap) {
            ++gap;
            before -= costs.extend;
        }
        const bool is_of_a = gap <= i && before >= 0;
        if (!is_of_a) {
            gap = 1;
            before = cost - costs.open - costs.extend;
            while (gap < j && before >= costs.extend && furthest(costs, fronts, before, j - i - gap) < i) {
                ++gap;
                before -= costs.extend;
            }
        }
        cost = before;
        for (int k = 0; k < gap; ++k)
            end[-(++length)] = is_of_a ? DELETE : INSERT;
        i -= is_of_a ? gap : 0;
        j -= is_of_a ? 0 : gap;
    }
    if (!(costs.free_ends & A_BEGIN))
        for (; i > 0; --i)
            end[-(++length)] = DELETE;
    if (!(costs.free_ends & B_BEGIN))
        for (; j > 0; --j)
            end[-(++length)] = INSERT;
    walk[0] = i;
    walk[1] = j;
    walk[2] = length;
}
#endif
