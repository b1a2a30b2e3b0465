// rings/cut.h: the order of removals. A budget of a map, or of a polygon (BY_POLYGON), takes the first ones of it: by
// round, then by area, then by number.
#include "batch/batch_find.h"
#include "rings/state.h"

#define WITHIN 1      // in taken[vertex]: the removal is within the limit of the area
#define NEEDED 2      // .. a budget of vertices needs it

#if BY_POLYGON
#define OWNER(vertex) row_of(firsts, 0, polygons - 1, ring_of[vertex])
#else
#define OWNER(vertex) (mask_of[vertex] / levels)
#endif
