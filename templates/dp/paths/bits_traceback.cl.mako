<%page args="problem='lcs', symbol='uchar', word='uint', variant='group', wg_size=1, items_per_thread=1"/>\
// bits_traceback: the traceback from a cell to column 0 or row 0, from the kept words of bits_tiles.
//
//   steps  [ .. unused .. | last written .. first written ]     0 match, 1 change, 2 up (delete), 3 left (insert)
//   cursor [ row, column, index of the first step ]             in: the start; out: the end
//
// A launch takes at most `limit` steps, and the next one continues. One work-item: each step depends on the one before.
// Up to n + m steps; each reads a word or two, mostly from a cache.
#define WORD_BITS ${64 if word == "ulong" else 32}
#define BIT(base, i, j) ((uint)(kept[((ulong)(base) + (i) / WORD_BITS) * m + (j)] >> ((i) % WORD_BITS)) & 1)

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void bits_traceback(global const ${symbol} *rows, global const ${symbol} *columns, const uint m, const uint words,
                    global const ${word} *kept, global uint *cursor, global uchar *steps, const uint limit)
{
    if (get_global_id(0) > 0)
        return;
    uint i = cursor[0], j = cursor[1], at = cursor[2];
    for (uint taken = 0; taken < limit && i > 0 && j > 0; ++taken) {
        uchar step;
% if problem == "lcs":
        if (rows[i - 1] == columns[j - 1])
            step = 0;
        else
            step = BIT(0, i - 1, j - 1) ? 2 : 3;        // the length above is no smaller: up
% else:
        if (rows[i - 1] == columns[j - 1])
            step = 0;
        else if (!BIT(0, i - 1, j - 1))
            step = 1;
        else
            step = BIT(words, i - 1, j - 1) ? 2 : 3;
% endif
        i -= step != 3;
        j -= step != 2;
        steps[--at] = step;
    }
    cursor[0] = i;
    cursor[1] = j;
    cursor[2] = at;
}
