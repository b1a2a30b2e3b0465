<%page args="bits=2, moves=(((1, 1, 0), (1, 0, 0), (0, 1, 0)),), places=((1, 3),), variant='group', wg_size=1, items_per_thread=1"/>\
<%
    most = max(map(len, moves))
    table = [[move or (0, 0, 0) for move in (*of, *[None] * (most - len(of)))] for of in moves]
%>\
// traceback: follows the choices of cells upwards and to the left, through the rows top and below that are held.
//
//   decisions   | row top | row top + 1 | ..    packed, ${bits} bits each, in the order of filling
//   cursor      [ row, column, steps taken, field ]    in: the start; out: the end, where the rows above continue
//   steps       [ choice at the first cell | at the second | .. ]
//   fields      [ field at the first cell | at the second | .. ]       of cells with several values
//
// The choice of a field is a digit of the cell's choice. It ends where it leaves the table, and at a choice without a move.
// `steps` has `room` entries. A launch takes at most `limit` steps, and the next one continues. One work-item: each step
// depends on the one before.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define BITS ${bits}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void traceback(const int top, const int room, const int limit, global const uchar *restrict decisions, const int pitch,
               global int *cursor, global uchar *restrict steps
% if len(moves) > 1:
               , global uchar *restrict fields
% endif
               )
{
% for name, at in (("up", 0), ("left", 1), ("next", 2)):
    const int ${name}[${len(moves)}][${most}] = {${", ".join("{" + ", ".join(str(move[at]) for move in of) + "}" for of in table)}};
% endfor
    const uint places[] = {${", ".join(str(place) for place, _ in places)}}, counts[] = {${", ".join(str(count) for _, count in places)}};
    if (get_global_id(0) == 0) {
        int row = cursor[0], column = cursor[1], count = cursor[2], field = cursor[3];
        const int end = min(room, count + limit);
        while (row >= top && column >= 0 && count < end) {
            const uchar byte = decisions[(size_t)(row - top) * pitch + (uint)column * BITS / 8];
            const uint decision =
                (byte >> ((uint)column * BITS % 8) & ((1u << BITS) - 1)) / places[field]${" % counts[field]" if len(moves) > 1 else ""};
% if len(moves) > 1:
            fields[count] = (uchar)field;
% endif
            steps[count++] = (uchar)decision;
            const bool known = decision < counts[field];
            const int rows = known ? up[field][decision] : 0, columns = known ? left[field][decision] : 0;
            field = known ? next[field][decision] : field;
            row -= rows;
            column = rows || columns ? column - columns : -1;
        }
        cursor[0] = row;
        cursor[1] = column;
        cursor[2] = count;
        cursor[3] = field;
    }
}
