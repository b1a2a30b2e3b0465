// group/scan.h: inclusive scans by a work-group. The includer has WG_SIZE; with WG_SIZE 1 there are no barriers.
//
// GROUP_SCAN(name, space, type, COMBINE) defines
//
//   inline uint name(space type *cells, uint count, uint lid)
//
// cells[0 .. count) are the values, and cells has room for 2 * count of them (Kogge and Stone: entry k is combined with
// entry k - reach, for reach 1, 2, 4 .., from one half of cells to the other). Returns the index of the result's first
// value. COMBINE(a, b) is an associative function of two values, a before b. There are barriers before the first read and
// after the last write: all work-items of the group call it.
#if WG_SIZE == 1
#define GROUP_BARRIER()
#else
#define GROUP_BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#endif

#define GROUP_SCAN(name, space, type, COMBINE)                                              \
    inline uint name(space type *cells, uint count, uint lid)                               \
    {                                                                                       \
        uint from = 0;                                                                      \
        for (uint reach = 1; reach < count; reach *= 2) {                                   \
            GROUP_BARRIER();                                                                \
            for (uint k = lid; k < count; k += WG_SIZE)                                     \
                cells[count - from + k] =                                                   \
                    k < reach ? cells[from + k] : COMBINE(cells[from + k - reach], cells[from + k]); \
            from = count - from;                                                            \
        }                                                                                   \
        GROUP_BARRIER();                                                                    \
        return from;                                                                        \
    }
#define GROUP_SUM(a, b) ((a) + (b))
