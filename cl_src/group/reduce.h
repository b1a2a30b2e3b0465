// group/reduce.h: a reduction of the values of all work-items of a group. The includer has WG_SIZE, a power of two.
//
//   before   cells[0] .. cells[WG_SIZE - 1] in local memory, one value each
//   TAKE     a call or statement by which work-item `lid` combines its value with that of `other`, such as
//            cells[lid] = max(cells[lid], cells[other]); without commas outside of parentheses
//   after    work-item 0's value is that of all, and every work-item may read it
//
// The order is that of a binary tree, the same on every device: values that are WG_SIZE / 2 apart first. It has barriers,
// also before the first read and after the last write: all work-items of the group execute it.
#define GROUP_REDUCE(lid, other, TAKE)                                \
    for (uint half_ = WG_SIZE / 2; half_ > 0; half_ /= 2) {           \
        barrier(CLK_LOCAL_MEM_FENCE);                                 \
        const uint other = (lid) + half_;                             \
        if ((lid) < half_) {                                          \
            TAKE;                                                     \
        }                                                             \
    }                                                                 \
    barrier(CLK_LOCAL_MEM_FENCE)
