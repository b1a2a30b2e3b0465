<%page args="real='float', filtered=True, keep_collinear=False, variant='group', wg_size=64, items_per_thread=1"/>\
// hood_match: pairs of hoods of at most d corners become hoods of at most 2 d, as published.
//
//   hood       | P: a corners ..  | Q: b corners ..  | P ..          blocks of d, left-justified; numbers of points
//   sizes      [ a | b | ..
//   new_hood   | P up to p, Q from q ..              | ..            blocks of 2 d
//   results    [ bracket d1 | touch d1 | low d2 | first candidate, p, q ][ .. ]      by pair
//
// `parts` work-groups to a pair stride over its d samples. One group does all six phases in a launch, with a barrier
// after each; several do one phase to a launch (first_phase = last_phase). Cost: O(d) tests for each phase, and a copy.
// Source: O Dunlaing, "CUDA implementation of Wagener's 2D convex hull PRAM algorithm" (2012), match_and_merge.
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP_COLLINEAR ${int(keep_collinear)}
#include "hood/hood.h"
#define HOOD_SPACE global
typedef uint slot_t;
typedef global const real_t *HOOD_POINTS;
#define HOOD_POINT(h, k) CLGEOM_POINT((h)->points, k)
#include "hood/hood_match.h"
#define WG_SIZE ${wg_size}

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void hood_match(global const real_t *points, const uint n, const uint side, const uint log_d, const uint parts,
                const uint first_phase, const uint last_phase, global const uint *hood, global const uint *sizes,
                global uint *new_hood, global uint *new_sizes, global uint *results)
{
    const uint d = 1u << log_d, log_d1 = (log_d + 1) / 2, log_d2 = log_d / 2;
    const uint number = get_group_id(0) / parts, begin = 2 * d * number;
    const uint lid = get_group_id(0) % parts * WG_SIZE + get_local_id(0), stride = parts * WG_SIZE;
    const int has_q = n - begin > d;                      // no points are left for the Q of the last pair
    results += number * ((2u << log_d1) + (1u << log_d2) + 3);
    pair_t pair = {points, hood + begin, hood + begin + (has_q ? d : 0),
                   sizes[2 * number], has_q ? sizes[2 * number + 1] : 0, side, log_d1, log_d2,
                   results, results + (1u << log_d1), results + (2u << log_d1),
                   results + (2u << log_d1) + (1u << log_d2)};
    item_skip_equal(&pair);
    for (uint phase = first_phase; phase <= min(last_phase, 5u); ++phase) {
        const uint samples = item_samples(&pair, phase);
        for (uint t = lid; t < samples; t += stride)
            item_match(&pair, phase, t);
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
    if (last_phase == 6) {
        const uint size = item_size(&pair);
        for (uint k = lid; k < size; k += stride)
            new_hood[begin + k] = item_merged(&pair, k);
        if (lid == 0)
            new_sizes[number] = size;
    }
}
