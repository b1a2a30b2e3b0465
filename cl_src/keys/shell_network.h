// keys/shell_network.h: Batcher's odd-even mergesort of an array in registers, without loops or branches.
//
//   SORT_32(k, 0)       sorts k[0 .. 31]; also 2, 4, 8, 16, 64
//   MERGE_32(k, 0, 1)   merges the ordered halves k[0 .. 15] and k[16 .. 31]
//
// Every index is a constant, so that compilers keep the array in registers. Compare-exchanges: 19 for SORT_8, 63, 191,
// 543 for SORT_64; 65 for MERGE_32. Batcher, "Sorting networks and their applications" (1968). The includer has code_t.
#define ORDER_CODES(k, i, j)                                   \
    do {                                                       \
        const code_t order_a = k[i], order_b = k[j];           \
        k[i] = order_a < order_b ? order_a : order_b;          \
        k[j] = order_a < order_b ? order_b : order_a;          \
    } while (0);

// PAIRS_n: the neighbours (i, i + s), (i + 2s, i + 3s) .., n of them.
#define PAIRS_1(k, i, s) ORDER_CODES(k, i, (i) + (s))
#define PAIRS_2(k, i, s) PAIRS_1(k, i, s) PAIRS_1(k, (i) + 2 * (s), s)
#define PAIRS_4(k, i, s) PAIRS_2(k, i, s) PAIRS_2(k, (i) + 4 * (s), s)
#define PAIRS_8(k, i, s) PAIRS_4(k, i, s) PAIRS_4(k, (i) + 8 * (s), s)
#define PAIRS_16(k, i, s) PAIRS_8(k, i, s) PAIRS_8(k, (i) + 16 * (s), s)
#define PAIRS_3(k, i, s) PAIRS_1(k, i, s) PAIRS_2(k, (i) + 2 * (s), s)
#define PAIRS_7(k, i, s) PAIRS_3(k, i, s) PAIRS_4(k, (i) + 6 * (s), s)
#define PAIRS_15(k, i, s) PAIRS_7(k, i, s) PAIRS_8(k, (i) + 14 * (s), s)
#define PAIRS_31(k, i, s) PAIRS_15(k, i, s) PAIRS_16(k, (i) + 30 * (s), s)

// MERGE_n: of elements i, i + s .. : those at even indices, those at odd ones, then each odd one with the next even.
#define MERGE_2(k, i, s) PAIRS_1(k, i, s)
#define MERGE_4(k, i, s) MERGE_2(k, i, 2 * (s)) MERGE_2(k, (i) + (s), 2 * (s)) PAIRS_1(k, (i) + (s), s)
#define MERGE_8(k, i, s) MERGE_4(k, i, 2 * (s)) MERGE_4(k, (i) + (s), 2 * (s)) PAIRS_3(k, (i) + (s), s)
#define MERGE_16(k, i, s) MERGE_8(k, i, 2 * (s)) MERGE_8(k, (i) + (s), 2 * (s)) PAIRS_7(k, (i) + (s), s)
#define MERGE_32(k, i, s) MERGE_16(k, i, 2 * (s)) MERGE_16(k, (i) + (s), 2 * (s)) PAIRS_15(k, (i) + (s), s)
#define MERGE_64(k, i, s) MERGE_32(k, i, 2 * (s)) MERGE_32(k, (i) + (s), 2 * (s)) PAIRS_31(k, (i) + (s), s)

#define SORT_2(k, i) MERGE_2(k, i, 1)
#define SORT_4(k, i) SORT_2(k, i) SORT_2(k, (i) + 2) MERGE_4(k, i, 1)
#define SORT_8(k, i) SORT_4(k, i) SORT_4(k, (i) + 4) MERGE_8(k, i, 1)
#define SORT_16(k, i) SORT_8(k, i) SORT_8(k, (i) + 8) MERGE_16(k, i, 1)
#define SORT_32(k, i) SORT_16(k, i) SORT_16(k, (i) + 16) MERGE_32(k, i, 1)
#define SORT_64(k, i) SORT_32(k, i) SORT_32(k, (i) + 32) MERGE_64(k, i, 1)
