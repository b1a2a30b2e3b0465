<%page args="symbol='uchar', variant='group', wg_size=64, items_per_thread=1"/>\
// bits_masks: for each symbol a bit mask of its indices in a sequence.
//
//   codes  | c c c c .. c | c c c .. | ..      a word for every WORD_BITS symbols, a work-item for every word
//   masks  [ words of symbol 0 | words of symbol 1 | .. ]      bit k of word w: codes[w * WORD_BITS + k] is this one
//
// The masks are zero at first. Reads n codes and changes a word for each; no two work-items change the same word.
<%
    word_bits = 64 if variant == "serial" else 32
%>\
#define WORD_BITS ${word_bits}
typedef ${"ulong" if word_bits == 64 else "uint"} word_t;

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void bits_masks(global const ${symbol} *codes, const uint n, const uint words, global word_t *masks)
{
    for (uint w = get_global_id(0); w < words; w += get_global_size(0)) {
        const uint first = w * WORD_BITS;
        for (uint k = 0; k < WORD_BITS && first + k < n; ++k)
            masks[(ulong)codes[first + k] * words + w] |= (word_t)1 << k;
    }
}
