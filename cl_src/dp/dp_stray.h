// dp/dp_stray.h: reads beyond a reach that was declared. The first one found is noted as (1, i, j, row read, column read).
inline int dp_strayed(global int *stray, const int i, const int j, const long a, const long b)
{
    if (atomic_cmpxchg(stray, 0, 1) == 0) {
        stray[1] = i;
        stray[2] = j;
        stray[3] = (int)(a < INT_MIN ? INT_MIN : a > INT_MAX ? INT_MAX : a);
        stray[4] = (int)(b < INT_MIN ? INT_MIN : b > INT_MAX ? INT_MAX : b);
    }
    return 0;
}
// Column b, if it is at most reach.x to the left and reach.y to the right, and the row is as said; else the cell's own.
inline int dp_within(global int *stray, const int2 reach, const int step, const int m, const int i, const int j, const long a, const long b)
{
    if (a == i + step && b >= j - (long)reach.x && b <= j + (long)reach.y && b >= 0 && b < m)
        return (int)b;
    dp_strayed(stray, i, j, a, b);
    return j;
}
