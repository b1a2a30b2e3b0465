// keys/shell_lanes.h: insertion of rows of keys into the ordered rows above them, LANES h-subsequences at a time
// (CPUs).
//
//   rows, `stride` apart   | a0 a1 .. a7 |      each lane is an h-subsequence, ordered from the top down
//                          | b0 b1 .. b7 |      the last rows go upwards while some lane is out of order;
//                          | m0 m1 .. m7 |      lanes in order exchange nothing: max and min leave them as they are
//
// Four rows at a time took 6 ms where one at a time took 11 (a pass over 1e7 uint32, PoCL, 2 cores): a branch that cannot
// be predicted ends every insertion, and there are a quarter as many.
// The includer has code_t, and CODE_BITS 32 or 64. Vectors stay within 32 bytes. They are loaded through a type without
// alignment and compared with operators, because some CPU compilers call vload, min, max and any as functions.
#if CODE_BITS == 32
#define LANES 8
typedef uint8 lanes_t;
typedef int8 lanes_mask_t;
#else
#define LANES 4
typedef ulong4 lanes_t;
typedef long4 lanes_mask_t;
#endif
typedef lanes_t __attribute__((aligned(sizeof(code_t)))) loose_lanes_t;

inline lanes_t lanes_load(global const code_t *at) { return *(global const loose_lanes_t *)at; }
inline void lanes_store(lanes_t lanes, global code_t *at) { *(global loose_lanes_t *)at = lanes; }

// Whether any lane of a comparison holds.
inline bool lanes_any(lanes_mask_t mask)
{
    const long4 words = as_long4(mask);
    const long2 pair = words.lo | words.hi;
    return (pair.x | pair.y) != 0;
}

#define ORDER_LANES(a, b)                              \
    do {                                               \
        const lanes_mask_t order_swap = a > b;         \
        const lanes_t order_low = order_swap ? b : a;  \
        b = order_swap ? a : b;                        \
        a = order_low;                                 \
    } while (0)

// Inserts the four rows from `at` on, stride apart, into the rows before them, of which `first` is the first; there are
// none or a multiple of four. The four are sorted, then merged with the four above, whose lower half is merged further up,
// until no lane is out of order. That takes five exchanges, and nine with one branch for each further four rows.
inline void lanes_insert_four(global code_t *first, global code_t *at, const ulong stride)
{
    lanes_t b0 = lanes_load(at), b1 = lanes_load(at + stride);
    lanes_t b2 = lanes_load(at + 2 * stride), b3 = lanes_load(at + 3 * stride);
    ORDER_LANES(b0, b1);
    ORDER_LANES(b2, b3);
    ORDER_LANES(b0, b2);
    ORDER_LANES(b1, b3);
    ORDER_LANES(b1, b2);
    while (at != first) {
        lanes_t a3 = lanes_load(at - stride);
        if (!lanes_any(a3 > b0))
            break;
        global code_t *up = at - 4 * stride;
        lanes_t a0 = lanes_load(up), a1 = lanes_load(up + stride), a2 = lanes_load(up + 2 * stride);
        ORDER_LANES(a0, b0);   // Batcher's merge of a0 .. a3 and b0 .. b3
        ORDER_LANES(a1, b1);
        ORDER_LANES(a2, b2);
        ORDER_LANES(a3, b3);
        ORDER_LANES(a2, b0);
        ORDER_LANES(a3, b1);
        ORDER_LANES(a1, a2);
        ORDER_LANES(a3, b0);
        ORDER_LANES(b1, b2);
        lanes_store(b0, at);
        lanes_store(b1, at + stride);
        lanes_store(b2, at + 2 * stride);
        lanes_store(b3, at + 3 * stride);
        b0 = a0;
        b1 = a1;
        b2 = a2;
        b3 = a3;
        at = up;
    }
    lanes_store(b0, at);
    lanes_store(b1, at + stride);
    lanes_store(b2, at + 2 * stride);
    lanes_store(b3, at + 3 * stride);
}

// Insert the row at `at` into the rows stride, 2 * stride .. before it, none of which is before `first`.
inline void lanes_insert(global code_t *first, global code_t *at, const ulong stride)
{
    const global code_t *second = first + stride;
    if (at < second)
        return;
    lanes_t mine = lanes_load(at), above = lanes_load(at - stride);
    if (!lanes_any(above > mine))
        return;
    do {
        lanes_store(above > mine ? above : mine, at);
        mine = above > mine ? mine : above;
        at -= stride;
        if (at < second)
            break;
        above = lanes_load(at - stride);
    } while (lanes_any(above > mine));
    lanes_store(mine, at);
}

// The same for one h-subsequence.
inline void lane_insert(global code_t *first, global code_t *at, const ulong stride)
{
    const global code_t *second = first + stride;
    const code_t mine = *at;
    for (; at >= second && at[-(long)stride] > mine; at -= stride)
        *at = at[-(long)stride];
    *at = mine;
}
