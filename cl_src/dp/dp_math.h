// dp/dp_math.h: arithmetic of traced equations. Of equal operands of min and max the first is taken; floor division is
// Python's.

// Cells are numbers, or records where DP_RECORD is defined, with DP_NO_CELL for a cell of zeros.
#ifdef DP_RECORD
#define DP_AS_CELL(value) (value)
#define DP_AS_STORED(value) (value)
#else
#define DP_NO_CELL 0
#define DP_AS_CELL(value) ((cell_t)(value))
#define DP_AS_STORED(value) ((stored_t)(value))
#endif

// Compilers of some devices drop the sign of a negated int within two nested minima or maxima (the quirk "lost_minus" in
// clgeom/quirks). On them dp_apart adds 0 in a form that the compiler cannot fold: launches have one dimension.
#ifdef CLGEOM_LOST_MINUS
#define DP_APART(type, zero) __attribute__((overloadable)) inline type dp_apart(const type a) { return a zero; }
#define DP_APARTS(type, zero)                                                               \
    DP_APART(type, zero)                                                                    \
    DP_APART(type##2, ) DP_APART(type##3, ) DP_APART(type##4, ) DP_APART(type##8, ) DP_APART(type##16, )
DP_APARTS(char, )
DP_APARTS(uchar, )
DP_APARTS(short, )
DP_APARTS(ushort, )
DP_APARTS(int, + (int)(get_work_dim() - 1))
DP_APARTS(uint, )
DP_APARTS(long, )
DP_APARTS(ulong, )
DP_APARTS(float, )
#if CLGEOM_FP64
DP_APARTS(double, )
#endif
#else
#define dp_apart(a) (a)
#endif

// min and max of equations in C. DP_MIN and DP_MAX are expressions, since some compilers for CPUs do not vectorise calls
// of the built-in functions. DP_CALLED_* call these, for arguments with side effects.
#define DP_MIN(x, y) dp_apart((y) < (x) ? (y) : (x))
#define DP_MAX(x, y) dp_apart((x) < (y) ? (y) : (x))
#define DP_CALLED_MIN(x, y) dp_apart(min(x, y))
#define DP_CALLED_MAX(x, y) dp_apart(max(x, y))

#define DP_MINMAX(type)                                                                     \
    inline type dp_min_##type(const type a, const type b) { return b < a ? b : a; }         \
    inline type dp_max_##type(const type a, const type b) { return b > a ? b : a; }

#define DP_WHOLE(type, unsigned_type)                                                       \
    DP_MINMAX(type)                                                                         \
    inline type dp_abs_##type(const type a) { return a < 0 ? (type)(0 - (unsigned_type)a) : a; } \
    inline type dp_floordiv_##type(const type a, const type b)                              \
    {                                                                                       \
        if (b == 0 || b == -1) return (type)(b * (unsigned_type)a); /* never overflows */   \
        const type quotient = a / b;                                                        \
        return quotient - (a % b != 0 && ((a < 0) != (b < 0)));                             \
    }                                                                                       \
    inline type dp_mod_##type(const type a, const type b)                                   \
    {                                                                                       \
        if (b == 0 || b == -1) return 0;                                                    \
        const type rest = a % b;                                                            \
        return rest != 0 && ((rest < 0) != (b < 0)) ? rest + b : rest;                      \
    }                                                                                       \
    inline type dp_shl_##type(const type a, const type count) /* 0 for a negative count */  \
    {                                                                                       \
        return count < 0 || count >= 8 * (type)sizeof(type) ? 0 : (type)((unsigned_type)a << count); \
    }                                                                                       \
    inline type dp_shr_##type(const type a, const type count)                               \
    {                                                                                       \
        return count < 0 ? 0 : a >> min(count, (type)(8 * sizeof(type) - 1));               \
    }

DP_WHOLE(int, uint)
DP_WHOLE(long, ulong)
DP_MINMAX(ulong)
inline ulong dp_abs_ulong(const ulong a) { return a; }
inline ulong dp_floordiv_ulong(const ulong a, const ulong b) { return b == 0 ? 0 : a / b; }
inline ulong dp_mod_ulong(const ulong a, const ulong b) { return b == 0 ? 0 : a % b; }
inline ulong dp_shl_ulong(const ulong a, const ulong count) { return count >= 64 ? 0 : a << count; }
inline ulong dp_shr_ulong(const ulong a, const ulong count) { return count >= 64 ? 0 : a >> count; }

// Integers wrap around on overflow. In C only unsigned ones do.
#define DP_WRAP(type, unsigned_type)                                                                          \
    inline type dp_wrap_add_##type(const type a, const type b) { return (type)((unsigned_type)a + (unsigned_type)b); } \
    inline type dp_wrap_sub_##type(const type a, const type b) { return (type)((unsigned_type)a - (unsigned_type)b); } \
    inline type dp_wrap_mul_##type(const type a, const type b) { return (type)((unsigned_type)a * (unsigned_type)b); } \
    inline type dp_wrap_neg_##type(const type a) { return (type)(0 - (unsigned_type)a); }
DP_WRAP(int, uint)
DP_WRAP(long, ulong)
DP_WRAP(ulong, ulong)

// Floats to integers, rounded towards zero; a value out of range becomes the nearest integer of the type, and NaN is 0.
#define DP_CAST(type, real, lowest, highest, beyond)                                        \
    inline type dp_cast_##type##_##real(const real x)                                       \
    {                                                                                       \
        return x != x ? 0 : x >= beyond ? highest : x <= -beyond ? lowest : (type)x;        \
    }
#define DP_CAST_UNSIGNED(real, beyond)                                                      \
    inline ulong dp_cast_ulong_##real(const real x)                                         \
    {                                                                                       \
        return !(x > 0) ? 0 : x >= beyond ? ULONG_MAX : (ulong)x;                           \
    }
DP_CAST_UNSIGNED(float, 0x1p64f)
DP_CAST(int, float, INT_MIN, INT_MAX, 0x1p31f)
DP_CAST(long, float, LONG_MIN, LONG_MAX, 0x1p63f)
#if CLGEOM_FP64
DP_CAST_UNSIGNED(double, 0x1p64)
DP_CAST(int, double, INT_MIN, INT_MAX, 0x1p31)
DP_CAST(long, double, LONG_MIN, LONG_MAX, 0x1p63)
#endif

// An index clamped to 0 .. size - 1, for cells whose values are not used.
inline int dp_inside(const long index, const int size)
{
    return (int)(index < 0 || size == 0 ? 0 : index >= size ? size - 1 : index);
}
DP_MINMAX(float)
inline float dp_abs_float(const float a) { return fabs(a); }

// float32: correctly rounded by the device (then kernels are built for that), or by way of double, which is exact enough
#if CLGEOM_FP64 && !DP_ROUNDED_DIVIDE
inline float dp_div_float(const float a, const float b) { return (float)((double)a / (double)b); }
inline float dp_sqrt_float(const float a) { return (float)sqrt((double)a); }
#else
inline float dp_div_float(const float a, const float b) { return a / b; }
inline float dp_sqrt_float(const float a) { return sqrt(a); }
#endif

#if CLGEOM_FP64
DP_MINMAX(double)
inline double dp_abs_double(const double a) { return fabs(a); }
inline double dp_div_double(const double a, const double b) { return a / b; }
inline double dp_sqrt_double(const double a) { return sqrt(a); }
#endif
