// dp/dp_pointers.h: tables in one buffer or in many.
//
// A table is one pointer, or 16 of them when it is larger than one allocation.
#define DP_ONE(type, p) global type *p##0
#define DP_MANY(type, p)                                                                                       \
    global type *p##0, global type *p##1, global type *p##2, global type *p##3, global type *p##4, global type *p##5, \
    global type *p##6, global type *p##7, global type *p##8, global type *p##9, global type *p##10,             \
    global type *p##11, global type *p##12, global type *p##13, global type *p##14, global type *p##15
#define DP_MANY_NAMES(p) p##0, p##1, p##2, p##3, p##4, p##5, p##6, p##7, p##8, p##9, p##10, p##11, p##12, p##13, p##14, p##15
#define DP_CHUNK_OF(type, name)                                                                                 \
    inline global type *name(const ulong at, const int shift, DP_MANY(type, p))                                 \
    {                                                                                                           \
        const uint chunk = (uint)(at >> shift);                                                                 \
        global type *const low = chunk < 4 ? (chunk < 2 ? (chunk < 1 ? p0 : p1) : (chunk < 3 ? p2 : p3))        \
                                           : (chunk < 6 ? (chunk < 5 ? p4 : p5) : (chunk < 7 ? p6 : p7));       \
        global type *const high = chunk < 12 ? (chunk < 10 ? (chunk < 9 ? p8 : p9) : (chunk < 11 ? p10 : p11))  \
                                             : (chunk < 14 ? (chunk < 13 ? p12 : p13) : (chunk < 15 ? p14 : p15)); \
        return (chunk < 8 ? low : high) + (at & (((ulong)1 << shift) - 1));                                     \
    }
