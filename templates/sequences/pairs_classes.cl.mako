<%page args="by='words', variant='group', wg_size=256, items_per_thread=1"/>\
// pairs_classes: the class of each pair of sequences, a key that orders the pairs by class and size, and what each class
// has.
//
//   a_bounds, b_bounds ─> lengths of pair p ─> keys[p]: class | two numbers of high_bits and low_bits
//   found   for each class: pairs, greatest first length, greatest second length${", then pairs by the bits of the second length" if by == "words" else ""}
//
% if by == "words":
// The first length is that of the pattern, whose words of `unit` letters times the letters of the text, the second one, are
// fewer. A pair's class is the number of limits that its pattern is beyond. Within a class texts ascend.
% else:
// The lengths are those of a and of b. A pair's class is the number of limits that the greater one is beyond. Within a
// class strips of `unit` letters of a descend, then quads of letters of b.
% endif
// `found` is 0 at first. Reads the bounds, and writes the keys, once.
#include "portable.h"
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "group/share.h"
#define CLASSES 8
#define BINS ${33 if by == "words" else 0}
#define FACTS (3 + BINS)

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void pairs_classes(global const uint *a_bounds, global const uint *b_bounds, const uint a_many, const uint b_many,
                   const uint count, global const uint *limits, const uint limit_count, const uint unit,
                   const uint high_bits, const uint low_bits, global uint *keys, global uint *found)
{
    local uint local_found[CLASSES * FACTS];
    const uint lid = get_local_id(0);
    for (uint k = lid; k < CLASSES * FACTS; k += ${wg_size})
        local_found[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    EACH_OF(ulong, p, count, get_global_id(0), get_global_size(0)) {
        const uint n = a_bounds[p * a_many + 1] - a_bounds[p * a_many], m = b_bounds[p * b_many + 1] - b_bounds[p * b_many];
        uint kind = 0;
% if by == "words":
        const ulong words_n = ((ulong)n + unit - 1) / unit, words_m = ((ulong)m + unit - 1) / unit;
        const bool swapped = words_m * n < words_n * m;
        const uint first = swapped ? m : n, second = swapped ? n : m, size = first, number = second;
% else:
        const uint first = n, second = m, size = max(n, m);
        const uint number = ~((((n + unit - 1) / unit) << low_bits) | ((m + 3) / 4)) & ((1u << (high_bits + low_bits)) - 1);
% endif
        for (uint k = 0; k < limit_count; ++k)
            kind += size > limits[k];
        keys[p] = kind << (high_bits + low_bits) | number;
        local uint *facts = local_found + kind * FACTS;
        atomic_inc(facts);
        atomic_max(facts + 1, first);
        atomic_max(facts + 2, second);
% if by == "words":
        atomic_inc(facts + 3 + 32 - clz(second));
% endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = lid; k < CLASSES * FACTS; k += ${wg_size}) {
        const uint value = local_found[k];
        if (value > 0 && (k % FACTS == 1 || k % FACTS == 2))
            atomic_max(found + k, value);
        else if (value > 0)
            atomic_add(found + k, value);
    }
}
