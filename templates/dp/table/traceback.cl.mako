<%page args="bits=2, moves=((1, 1), (1, 0), (0, 1)), variant='group', wg_size=1, items_per_thread=1"/>\
// traceback: follows the choices of cells upwards and to the left, through the rows top and below that are held.
//
//   decisions   | row top | row top + 1 | ..    packed, ${bits} bits each, in the order of filling
//   cursor      [ row, column, steps taken ]    in: the start; out: the end, where the rows above continue
//   steps       [ choice at the first cell | at the second | .. ]
//
// It ends where it leaves the table, and at a choice without a move. `steps` has `room` entries. A launch takes at most
// `limit` steps, and the next one continues. One work-item: each step depends on the one before.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define BITS ${bits}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void traceback(const int top, const int room, const int limit, global const uchar *restrict decisions, const int pitch,
               global int *cursor, global uchar *restrict steps)
{
    const int up[] = {${", ".join(str(move[0]) if move else "0" for move in moves)}};
    const int left[] = {${", ".join(str(move[1]) if move else "0" for move in moves)}};
    if (get_global_id(0) == 0) {
        int row = cursor[0], column = cursor[1], count = cursor[2];
        const int end = min(room, count + limit);
        while (row >= top && column >= 0 && count < end) {
            const uchar byte = decisions[(size_t)(row - top) * pitch + (uint)column * BITS / 8];
            const uint decision = (byte >> ((uint)column * BITS % 8)) & ((1u << BITS) - 1);
            steps[count++] = (uchar)decision;
            const bool known = decision < ${len(moves)};
            const int rows = known ? up[decision] : 0, columns = known ? left[decision] : 0;
            row -= rows;
            column = rows || columns ? column - columns : -1;
        }
        cursor[0] = row;
        cursor[1] = column;
        cursor[2] = count;
    }
}
