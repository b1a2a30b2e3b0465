<%page args="real='float', value='int', variant='serial', wg_size=1, items_per_thread=1"/>\
// batch_within: flags the points that are not strictly within the rectangle of their label, and counts the others by label.
//
//   points       p0 p1 p2 ..                 labels   3 9 3 ..
//   rectangles   xmin ymin xmax ymax | ..    of the labels first, first + 1, .. first + count - 1, and an empty one, with
//   outside      1  0  1  ..                 xmin > xmax, for any other label
//   within       label 0, 1, .. count | label 0, 1, .. | ..       a table for each group; groups share `tables` of them
//
// Reads points and labels once, writes a byte for each. Comparisons alone decide. A device that takes subnormals for zero
// finds fewer points within, never more.
#define CLGEOM_SERIAL ${int(variant == 'serial')}
#include "portable.h"
#define WG_SIZE ${wg_size}
#define TILE (WG_SIZE * ${items_per_thread})
typedef ${real} real_t;

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void batch_within(global const real_t *points, global const ${value} *labels, const uint n, global const real_t *rectangles,
                  const ulong first, const uint count, const uint tables, global uchar *outside, global uint *within)
{
    global uint *own = within + (ulong)(get_group_id(0) % tables) * (count + 1);
    for (ulong tile = get_group_id(0) * (ulong)TILE; tile < n; tile += get_num_groups(0) * (ulong)TILE)
        for (uint k = get_local_id(0); k < TILE && tile + k < n; k += WG_SIZE) {
            const ulong i = tile + k, apart = (ulong)(long)labels[i] - first;
            const uint label = apart < count ? (uint)apart : count;
            const real_t x = points[2 * i], y = points[2 * i + 1];
            // plain loads: PoCL makes a call of each vload; no branches: they would be guessed wrong
            global const real_t *box = rectangles + 4 * (ulong)label;
            const uint inside = (box[0] < x) & (x < box[2]) & (box[1] < y) & (y < box[3]);
            outside[i] = !inside;
#if CLGEOM_SERIAL
            own[label] += inside;
#else
            if (inside)
                atomic_inc(own + label);
#endif
        }
}
