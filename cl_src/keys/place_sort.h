// keys/place_sort.h: places of things in local memory sorted by a network, by a work-group. The includer has WG_SIZE and
//
//   things_t         what BEFORE needs to know of the things
//   BEFORE(t, a, b)  whether the thing in place a comes before that in place b
//
// Batcher's bitonic network, in the form whose exchanges all go upwards: the first step of a stage compares runs from both
// ends. So nothing ever moves beyond `count`, and places that are not there need no values. For a hundred things it takes
// as long as merging by bisection, in a fraction of the code; some compilers take longer over that than over all the rest.

// Called by all of the group; when it returns all see the places in order. One loop over the network's steps, which
// passes its barrier before it may end: PoCL writes all that follows a barrier that may be skipped twice.
inline void group_place_sort(const things_t t, local ushort *order, uint count, uint lid)
{
    for (uint run = 1, apart = 1;;) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (run >= count)
            break;
        for (uint k = lid; k < (count + 1) / 2 + apart; k += WG_SIZE) {
            const uint within = k & (apart - 1), a = 2 * k - within;
            const uint b = apart == run ? a + 2 * (apart - within) - 1 : a + apart;
            if (b >= count)
                continue;
            const ushort one = order[a], other = order[b];
            if (BEFORE(t, other, one)) {
                order[a] = other;
                order[b] = one;
            }
        }
        apart /= 2;
        if (apart == 0)
            apart = run *= 2;
    }
}
