// dp/dp_undeclared.h: undeclared reads: of cells that are at none of an equation's declared dependence offsets. The first one
// found is noted as (1, i, j, row read, column read).
inline int dp_note_undeclared(global int *undeclared, const int i, const int j, const long a, const long b)
{
    if (atomic_cmpxchg(undeclared, 0, 1) == 0) {
        undeclared[1] = i;
        undeclared[2] = j;
        undeclared[3] = (int)(a < INT_MIN ? INT_MIN : a > INT_MAX ? INT_MAX : a);
        undeclared[4] = (int)(b < INT_MIN ? INT_MIN : b > INT_MAX ? INT_MAX : b);
    }
    return 0;
}
// Column b if it is at most reach.x to the left and reach.y to the right, in the declared row; otherwise the cell's column.
inline int dp_within(global int *undeclared, const int2 reach, const int step, const int m, const int i, const int j,
                     const long a, const long b)
{
    if (a == i + step && b >= j - (long)reach.x && b <= j + (long)reach.y && b >= 0 && b < m)
        return (int)b;
    dp_note_undeclared(undeclared, i, j, a, b);
    return j;
}
