// coverage/covered.h: whether a cell reaches a level. The includer has VALUE and THRESHOLD, the types of a cell and of a
// level, BELOW, 1 if cells at or below a level are covered, and NODATA, 1 if cells equal to `nodata` have no value.
//
// NaN reaches no level: it compares false.
#if BELOW
#define REACHES(v, level) ((THRESHOLD)(v) <= (level))
#else
#define REACHES(v, level) ((THRESHOLD)(v) >= (level))
#endif
#if NODATA
#define COVERED(v, level) (REACHES(v, level) && (THRESHOLD)(v) != nodata)
#else
#define COVERED(v, level) REACHES(v, level)
#endif
