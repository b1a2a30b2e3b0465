// batch/batch_find.h: ragged rows that stand one after another. before[k]: how many things the rows before row k have.

// The row, of those from low to high, that thing i is in; rows without things are never found.
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
