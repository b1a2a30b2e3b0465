<%page args="problem='lcs', symbol='uchar', word='uint', variant='group', wg_size=128, items_per_thread=1"/>\
// bits_traceback: the traceback from a cell to column 0 or row 0, from the kept words of bits_sweep or bits_tiles.
//
//   steps  [ .. unused .. | last written .. first written ]     0 match, 1 change, 2 up (delete), 3 left (insert)
//   cursor [ row, column, index of the first step ]             in: the start; out: the end
//
//        columns
//      +---------+     a window of WORDS words of rows and COLUMNS columns that ends at the cursor: all items work out
//   w  | . . . . |     the steps of its cells, two bits each, one item walks through it to its edge, and all items write
//      | . . . x |     the steps that it took
//      +---------+
//
// One group. A launch takes windows until it has taken `limit` steps, and the next one continues. Up to n + m steps, each
// a read of local memory; a window is two reads of global memory for each of its words.
#define WG_SIZE ${wg_size}
#define WORD_BITS ${64 if word == "ulong" else 32}
#define WORDS (256 / WORD_BITS)
#define COLUMNS WG_SIZE
#define EDIT ${int(problem == "edit")}
typedef ${word} word_t;
typedef ${word}2 bits_t;                                         // the low and the high bits of steps

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void bits_traceback(global const word_t *masks, const uint words, global const ${symbol} *columns, const ulong pitch,
                    global const word_t *kept, global uint *cursor, global uchar *steps, const uint limit)
{
    local bits_t window[WORDS * COLUMNS];
    local uchar taken[WORDS * WORD_BITS + COLUMNS];
    local uint reached[2], count;
    const uint lid = get_local_id(0);
    uint i = cursor[0], j = cursor[1], at = cursor[2], done = 0;
    barrier(CLK_GLOBAL_MEM_FENCE);                               // all items have the cursor before one writes it
    while (i > 0 && j > 0 && done < limit) {
        const uint last = (i - 1) / WORD_BITS, top = last < WORDS ? 0 : last - (WORDS - 1);
        const uint left = j < COLUMNS ? 0 : j - COLUMNS;
        const uint c = min(left + lid, j - 1), code = columns[c];    // all items read, those to the right what is not used
        #pragma unroll
        for (uint r = 0; r < WORDS; ++r) {
            const uint w = min(top + r, last);
            const word_t match = masks[(ulong)code * words + w], word = kept[w * pitch + c];
#if EDIT
            const word_t grow = kept[(words + w) * pitch + c];
            window[r * COLUMNS + lid] = (bits_t)(~match & (~word | ~grow), ~match & word);
#else
            window[r * COLUMNS + lid] = (bits_t)(~match & ~word, ~match);   // 2, up: the length above is no smaller
#endif
        }
        for (uint k = lid; k < WORDS * WORD_BITS + COLUMNS; k += WG_SIZE)
            taken[k] = 2;                                        // the walk writes the others
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid == 0) {
            const uint first = top * WORD_BITS;
            uint n = 0, w = (i - 1) / WORD_BITS, k = (w - top) * COLUMNS + j - 1 - left;
            bits_t bits = window[k];
            while (i > first && j > left) {
                const uint bit = (i - 1) % WORD_BITS;
                const bits_t ahead = window[k - (k > 0)];        // most likely the next
                const uint up = min((uint)clz((word_t)(~(bits.y & ~bits.x) << (WORD_BITS - 1 - bit))), bit + 1);
                n += up;
                i -= up;
                if (up <= bit) {
                    const uint at_bit = bit - up, step = (uint)(bits.x >> at_bit & 1) | (uint)(bits.y >> at_bit & 1) << 1;
                    taken[n++] = step;
                    i -= step != 3;
                    --j;
                    --k;
                    bits = ahead;
                }
                if (i > first && (i - 1) / WORD_BITS != w) {
                    --w;
                    k -= COLUMNS;
                    if (j > left)
                        bits = window[k];
                }
            }
            reached[0] = i;
            reached[1] = j;
            count = n;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        i = reached[0];
        j = reached[1];
        for (uint k = lid; k < count; k += WG_SIZE)
            steps[at - 1 - k] = taken[k];
        at -= count;
        done += count;
        barrier(CLK_LOCAL_MEM_FENCE);                            // before the window is overwritten
    }
    if (lid == 0) {
        cursor[0] = i;
        cursor[1] = j;
        cursor[2] = at;
    }
}
