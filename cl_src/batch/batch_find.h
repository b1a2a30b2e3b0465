// batch/batch_find.h: search in ragged rows. before[k]: the number of elements in the rows before row k.

// The row, from low to high, that contains element i; never an empty row.
inline uint row_of(global const uint *before, uint low, uint high, uint i)
{
    while (low < high) {
        const uint middle = low + (high - low + 1) / 2;
        if (before[middle] <= i)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}
