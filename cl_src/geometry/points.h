// geometry/points.h: the types of coordinates and points. The includer has REAL: float, double or int.
//
// Defines real_t, point_t (two of them, .x and .y), CLGEOM_POINT, which loads one from global memory, and one of
// CLGEOM_COORD_float, CLGEOM_COORD_double, CLGEOM_COORD_int.

#include "portable.h"

#define CLGEOM_PASTE_(a, b) a##b
#define CLGEOM_PASTE(a, b) CLGEOM_PASTE_(a, b)
#define CLGEOM_REAL_float 1
#define CLGEOM_REAL_double 2
#define CLGEOM_REAL_int 3
#if CLGEOM_PASTE(CLGEOM_REAL_, REAL) == CLGEOM_REAL_float
#define CLGEOM_COORD_float
#elif CLGEOM_PASTE(CLGEOM_REAL_, REAL) == CLGEOM_REAL_double
#define CLGEOM_COORD_double
#elif CLGEOM_PASTE(CLGEOM_REAL_, REAL) == CLGEOM_REAL_int
#define CLGEOM_COORD_int
#else
#error "REAL must be float, double or int"
#endif

typedef REAL real_t;
typedef CLGEOM_PASTE(REAL, 2) point_t;

// Point i of an array of coordinates.
#define CLGEOM_LOAD2_(scalar, array, i) CLGEOM_LOAD2(scalar, array, i)
#define CLGEOM_POINT(array, i) CLGEOM_LOAD2_(REAL, array, i)

// Whether point a comes before point b by x, then y; `tie` for equal points.
#define CLGEOM_BEFORE(ax, ay, bx, by, tie) ((ax) < (bx) || ((ax) == (bx) && ((ay) < (by) || ((ay) == (by) && (tie)))))
