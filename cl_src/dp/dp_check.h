// dp/dp_check.h: checked arithmetic and indices. A fault is (kind, row, column) of the first error of a cell.
#define DP_MUTED -1           // an unknown value was read: errors that follow from it are not faults
#define DP_FAULT_RANGE 1      // read of a cell outside the table
#define DP_FAULT_PATTERN 2    // read of a cell that the pattern does not allow
#define DP_FAULT_START 3      // read of a cell before the first stage
#define DP_FAULT_OVERFLOW 4
#define DP_FAULT_INDEX 5      // index of a parameter out of range
#define DP_FAULT_DIVISION 6   // by zero
#define DP_FAULT_SHIFT 7      // by a negative count
#define DP_FAULT_DECISION 8   // a choice that is not below the declared count
#define DP_FAULT_QUOTIENT 9   // the least integer divided by -1

inline void dp_note(int *fault, const int kind, const int a, const int b)
{
    if (fault[0] == 0) {
        fault[0] = kind;
        fault[1] = a;
        fault[2] = b;
    }
}

inline int dp_clip(const long a) { return (int)clamp(a, (long)INT_MIN, (long)INT_MAX); }

inline long dp_at(const long index, const long size, int *fault)
{
    if (index >= 0 && index < size) return index;
    dp_note(fault, DP_FAULT_INDEX, dp_clip(index), dp_clip(size));
    return 0;
}

#ifdef DP_DIVISORS
// Division in an equation in C, for any type: 0 where an integer has no quotient.
#define DP_DIVIDE(type, name, op, beyond)                                                             \
    __attribute__((overloadable)) inline type name(const type a, const type by, int *fault)           \
    {                                                                                                 \
        if (by == 0) dp_note(fault, DP_FAULT_DIVISION, 0, 0);                                         \
        else if (beyond) dp_note(fault, DP_FAULT_QUOTIENT, 0, 0);                                     \
        else return a op by;                                                                          \
        return 0;                                                                                     \
    }
#define DP_DIVIDES(type, beyond) DP_DIVIDE(type, dp_divide, /, beyond) DP_DIVIDE(type, dp_divide_rest, %, beyond)
DP_DIVIDES(int, by == -1 && a == INT_MIN)
DP_DIVIDES(uint, false)
DP_DIVIDES(long, by == -1 && a == LONG_MIN)
DP_DIVIDES(ulong, false)
#define DP_DIVIDE_FLOAT(type)                                                                         \
    __attribute__((overloadable)) inline type dp_divide(const type a, const type by, int *fault) { return a / by; }
DP_DIVIDE_FLOAT(float)
#if CLGEOM_FP64
DP_DIVIDE_FLOAT(double)
#endif
#endif

inline int dp_narrow(const long value, int *fault)
{
    if (value != (int)value) dp_note(fault, DP_FAULT_OVERFLOW, 0, 0);
    return (int)value;
}
inline int dp_add_int(const int a, const int b, int *fault) { return dp_narrow((long)a + b, fault); }
inline int dp_sub_int(const int a, const int b, int *fault) { return dp_narrow((long)a - b, fault); }
inline int dp_mul_int(const int a, const int b, int *fault) { return dp_narrow((long)a * b, fault); }
inline int dp_neg_int(const int a, int *fault) { return dp_narrow(-(long)a, fault); }

inline long dp_trap(const bool over, const ulong value, int *fault)
{
    if (over) dp_note(fault, DP_FAULT_OVERFLOW, 0, 0);
    return (long)value;
}
inline long dp_add_long(const long a, const long b, int *fault)
{
    const ulong sum = (ulong)a + (ulong)b;
    return dp_trap(((a ^ (long)sum) & (b ^ (long)sum)) < 0, sum, fault);
}
inline long dp_sub_long(const long a, const long b, int *fault)
{
    const ulong rest = (ulong)a - (ulong)b;
    return dp_trap(((a ^ b) & (a ^ (long)rest)) < 0, rest, fault);
}
inline long dp_mul_long(const long a, const long b, int *fault)
{
    const ulong product = (ulong)a * (ulong)b;
    return dp_trap(mul_hi(a, b) != ((long)product >> 63), product, fault);
}
inline long dp_neg_long(const long a, int *fault) { return dp_trap(a == LONG_MIN, 0 - (ulong)a, fault); }

// Of unsigned integers of 64 bits, and between them and signed ones.
inline ulong dp_trap_unsigned(const bool over, const ulong value, int *fault) { return (ulong)dp_trap(over, value, fault); }
inline ulong dp_add_ulong(const ulong a, const ulong b, int *fault) { return dp_trap_unsigned(a + b < a, a + b, fault); }
inline ulong dp_sub_ulong(const ulong a, const ulong b, int *fault) { return dp_trap_unsigned(b > a, a - b, fault); }
inline ulong dp_mul_ulong(const ulong a, const ulong b, int *fault)
{
    return dp_trap_unsigned(mul_hi(a, b) != 0, a * b, fault);
}
inline ulong dp_neg_ulong(const ulong a, int *fault) { return dp_trap_unsigned(a != 0, 0 - a, fault); }
inline ulong dp_checked_abs_ulong(const ulong a, int *fault) { return a; }
inline ulong dp_checked_floordiv_ulong(const ulong a, const ulong b, int *fault)
{
    if (b == 0) dp_note(fault, DP_FAULT_DIVISION, 0, 0);
    return dp_floordiv_ulong(a, b);
}
inline ulong dp_checked_mod_ulong(const ulong a, const ulong b, int *fault)
{
    if (b == 0) dp_note(fault, DP_FAULT_DIVISION, 0, 0);
    return dp_mod_ulong(a, b);
}
inline ulong dp_checked_shl_ulong(const ulong a, const ulong count, int *fault)
{
    const ulong found = dp_shl_ulong(a, count);
    return dp_trap_unsigned(dp_shr_ulong(found, count) != a, found, fault);
}
inline ulong dp_checked_shr_ulong(const ulong a, const ulong count, int *fault) { return dp_shr_ulong(a, count); }
inline ulong dp_to_ulong(const long a, int *fault) { return dp_trap_unsigned(a < 0, (ulong)a, fault); }
inline long dp_to_long(const ulong a, int *fault) { return dp_trap(a > (ulong)LONG_MAX, a, fault); }
inline int dp_to_int(const ulong a, int *fault) { return (int)dp_trap(a > (ulong)INT_MAX, a, fault); }

#define DP_TRAPPED(type, lowest)                                                                          \
    inline type dp_checked_abs_##type(const type a, int *fault) { return a < 0 ? dp_neg_##type(a, fault) : a; } \
    inline type dp_checked_floordiv_##type(const type a, const type b, int *fault)                        \
    {                                                                                                     \
        if (b == 0) dp_note(fault, DP_FAULT_DIVISION, 0, 0);                                              \
        if (b == -1 && a == lowest) dp_note(fault, DP_FAULT_OVERFLOW, 0, 0);                              \
        return dp_floordiv_##type(a, b);                                                                  \
    }                                                                                                     \
    inline type dp_checked_mod_##type(const type a, const type b, int *fault)                             \
    {                                                                                                     \
        if (b == 0) dp_note(fault, DP_FAULT_DIVISION, 0, 0);                                              \
        return dp_mod_##type(a, b);                                                                       \
    }                                                                                                     \
    inline type dp_checked_shl_##type(const type a, const type count, int *fault)                         \
    {                                                                                                     \
        const type found = dp_shl_##type(a, count);                                                       \
        if (count < 0) dp_note(fault, DP_FAULT_SHIFT, dp_clip(count), 0);                                 \
        else if (dp_shr_##type(found, count) != a) dp_note(fault, DP_FAULT_OVERFLOW, 0, 0);               \
        return found;                                                                                     \
    }                                                                                                     \
    inline type dp_checked_shr_##type(const type a, const type count, int *fault)                         \
    {                                                                                                     \
        if (count < 0) dp_note(fault, DP_FAULT_SHIFT, dp_clip(count), 0);                                 \
        return dp_shr_##type(a, count);                                                                   \
    }
DP_TRAPPED(int, INT_MIN)
DP_TRAPPED(long, LONG_MIN)
