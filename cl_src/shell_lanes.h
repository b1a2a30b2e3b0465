// shell_lanes.h: insertion of a row of keys into the ordered rows above it, LANES columns at a time (CPUs).
//
//   rows, `stride` apart   | a0 a1 .. a7 |      each lane is a column of its own, ordered from the top down
//                          | b0 b1 .. b7 |      the last row sinks upwards while some lane is out of order;
//                          | m0 m1 .. m7 |      lanes in order exchange nothing: max and min leave them as they are
//
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

// Insert the row at `at` into the rows stride, 2 * stride .. before it, none of which is before `first`.
inline void lanes_insert(global code_t *first, global code_t *at, const ulong stride)
{
    const global code_t *second = first + stride;
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

// The same for one column.
inline void lane_insert(global code_t *first, global code_t *at, const ulong stride)
{
    const global code_t *second = first + stride;
    const code_t mine = *at;
    for (; at >= second && at[-(long)stride] > mine; at -= stride)
        *at = at[-(long)stride];
    *at = mine;
}
