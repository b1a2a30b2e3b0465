// align_walk.h: the traceback of an alignment through the stored choices of a tile. Those of one tile are CHOICE_STRIDE
// apart.
// The low 2 bits of a choice: the diagonal, E, F, or the beginning of a local alignment.
#define BY_E 1
#define BY_F 2
#define STOP 3
// Bits: the gap that goes on from this cell down, or to the right, is longer than one letter.
#define LONGER_E 4
#define LONGER_F 8
// States of a traceback: at a cell's H; after a step up or to the left, which the cell may continue; at the end.
#define AT_H 0
#define AFTER_E 1
#define AFTER_F 2
#define DONE 3
// operations
#define MATCH 0
#define CHANGE 1
#define DELETE 2
#define INSERT 3

// The place of the choices of 4 rows, within a work-item's memory.
inline size_t choice_entry(int row_of_four, int column, int width)
{
    return (size_t)row_of_four * width + column;
}

// walk_state: the row and column where the traceback is, its state, the number of operations. They are written from
// job.end backwards.
inline void walk(rules_t rules, global const uchar *a, global const uchar *b, global const uchar *codes, job_t job,
                 global const ushort *choices, int width, global int *walk_state, global uchar *operations)
{
    int i = walk_state[0] - job.i0, j = walk_state[1] - job.j0, state = walk_state[2], length = walk_state[3];
    global uchar *end = operations + job.end;
    while (i > 0 && j > 0 && state != DONE) {
        const int row = i - 1, begin = BANDED > TILED ? max(1, row / ROWS * ROWS + 1 - rules.band) : 1;
        const size_t entry = choice_entry(row / 4, j - begin, width);
        const int choice = choices[entry * CHOICE_STRIDE] >> 4 * (row % 4) & 15;
        int by = choice & 3;
        if (state != AT_H) {
            const bool longer = choice & (state == AFTER_E ? LONGER_E : LONGER_F);
            by = longer ? (state == AFTER_E ? BY_E : BY_F) : by;
        }
        if (by == STOP) {
            state = DONE;
            break;
        }
        int operation = by == BY_E ? DELETE : INSERT;
        if (by == 0) {
            const uchar x = codes[a[job.a_begin + job.i0 + i - 1]], y = letter_of_b(b, codes, job, job.j0 + j - 1);
            operation = x == y ? MATCH : CHANGE;
        }
        end[-(++length)] = operation;
        state = by == BY_E ? AFTER_E : by == BY_F ? AFTER_F : AT_H;
        i -= operation != INSERT;
        j -= operation != DELETE;
    }
    i += job.i0;
    j += job.j0;
    if (i == 0 || j == 0) {
#if !LOCAL
        if (!(rules.free_ends & A_BEGIN))
            for (; i > 0; --i)
                end[-(++length)] = DELETE;
        if (!(rules.free_ends & B_BEGIN))
            for (; j > 0; --j)
                end[-(++length)] = INSERT;
#endif
        state = DONE;
    }
    walk_state[0] = i;
    walk_state[1] = j;
    walk_state[2] = state;
    walk_state[3] = length;
}
