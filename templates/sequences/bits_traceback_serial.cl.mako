<%page args="problem='lcs', symbol='uchar', word='uint', variant='serial', wg_size=1, items_per_thread=1"/>\
// bits_traceback: one work-item for all steps of the traceback; each reads two or three words, mostly from a
// cache.
#define WORD_BITS ${64 if word == "ulong" else 32}
#define EDIT ${int(problem == "edit")}
typedef ${word} word_t;

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void bits_traceback(global const word_t *masks, const uint words, global const ${symbol} *columns,
                    const ulong pitch, global const word_t *kept, global uint *cursor, global uchar *steps,
                    const uint limit)
{
    uint i = cursor[0], j = cursor[1], at = cursor[2];
    for (uint taken = 0; taken < limit && i > 0 && j > 0; ++taken) {
        const uint w = (i - 1) / WORD_BITS, bit = (i - 1) % WORD_BITS;
        uint step;
        if (masks[(ulong)columns[j - 1] * words + w] >> bit & 1)
            step = 0;
#if EDIT
        else if (!(kept[w * pitch + j - 1] >> bit & 1))
            step = 1;
        else
            step = kept[(words + w) * pitch + j - 1] >> bit & 1 ? 2 : 3;
#else
        else
            step = kept[w * pitch + j - 1] >> bit & 1 ? 2 : 3;     // the length above is no smaller: up
#endif
        i -= step != 3;
        j -= step != 2;
        steps[--at] = step;
    }
    cursor[0] = i;
    cursor[1] = j;
    cursor[2] = at;
}
