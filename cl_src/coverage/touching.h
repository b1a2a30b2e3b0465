// coverage/touching.h: runs of covered cells that touch a run in the column before.
//
//   column c - 1   column c           runs are sorted by column and row, so those that touch run i in the column before
//   | run 3 |                         are consecutive: the first is found by bisection
//   |       |      | run i |
//   | run 4 |      |       |          reach 1: corners touch, too (8 neighbours), reach 0: sides only (4)

// The first of the runs from `low` to `high` that does not end above row `top`.
inline uint first_touching(global const int *bottoms, uint low, uint high, int top)
{
    while (low < high) {
        const uint middle = low + (high - low) / 2;
        if (bottoms[middle] < top)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
