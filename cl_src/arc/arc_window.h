// arc/arc_window.h: the candidates of a tile of short segments of one region, in local memory. The includer has real_t,
// point_t, arc/arc_cut.h, WG_SIZE, POINT(points, id), the coordinates of a candidate, and LONGEST, the most nominal
// candidates of a segment.
//
//   candidates | MARGIN | segment before | tile: OWN segments .. | segment after | first of the next |  at INDEX(i)
//              | LEFT_AT: another segment before, with the first candidate after it |
//              | RIGHT_AT: another segment after, likewise |
//
// A segment has the columns that end among its nominal candidates. Work-item 0 has the nearest segment before the tile in
// which a column ends, the last work-item the nearest one after it, and the others the segments of the tile. If no column
// ends in the segments beside the tile, the nearest others are at LEFT_AT and RIGHT_AT.
#define OWN (WG_SIZE - 2)
#define MARGIN 16                                  // candidates before the window, where columns may begin
#define INDEX(i) ((i) + (i) / 16)                  // work-items that are 4 points apart are on different banks
#define LEFT_AT (MARGIN + WG_SIZE * LONGEST + 1)
#define RIGHT_AT (LEFT_AT + LONGEST + 1)
#define WINDOW INDEX(RIGHT_AT + LONGEST + 1)

typedef struct {
    uint from;                          // candidate at index 0
    uint left, right;                   // the segments of the first and of the last work-item
    uint left_some, right_some;         // whether there are such segments
} window_t;

// The segment of a work-item: its first nominal candidate, their number, and the index of the first; whether they are at
// LEFT_AT or RIGHT_AT.
typedef struct { uint first, count, at, apart; } segment_t;

// Loads the window of segments `tile` .. `tile_end - 1`. Followed by a barrier.
inline window_t group_load_window(global const real_t *points, uint m, uint segments, uint tile, uint tile_end, uint lid,
                                  local point_t *candidates)
{
    const uint tile_first = arc_nominal(0, m, segments, tile), tile_last = arc_nominal(0, m, segments, tile_end);
    const uint before = arc_nominal(0, m, segments, max(tile, 1u) - 1), after = arc_nominal(0, m, segments, tile_end + 1);
    window_t window = {max(before, (uint)MARGIN) - MARGIN, tile - 1, tile_end, tile > 0, tile_end < segments};
    for (uint i = window.from + lid; i < after + 1; i += WG_SIZE)
        candidates[INDEX(i - window.from)] = POINT(points, min(i, m - 1));      // the last one again beyond the end
    if (tile > 0 && points[2 * (size_t)before] == points[2 * (size_t)tile_first]) {
        const uint begin = arc_column(points, 0, before);
        window.left_some = begin > 0;
        window.left = arc_owner(m, segments, max(begin, 1u) - 1);
        const uint first = arc_nominal(0, m, segments, window.left), last = arc_nominal(0, m, segments, window.left + 1);
        for (uint i = lid; i <= last - first; i += WG_SIZE)
            candidates[INDEX(LEFT_AT + i)] = POINT(points, first + i);
    }
    if (after < m && points[2 * (size_t)tile_last] == points[2 * (size_t)after]) {
        window.right = arc_owner(m, segments, arc_column_end(points, m, after));
        const uint first = arc_nominal(0, m, segments, window.right), last = arc_nominal(0, m, segments, window.right + 1);
        for (uint i = lid; i <= last - first; i += WG_SIZE)
            candidates[INDEX(RIGHT_AT + i)] = POINT(points, min(first + i, m - 1));
    }
    return window;
}

// The segment of a work-item; without candidates if it has none.
inline segment_t item_segment(const window_t window, uint m, uint segments, uint tile, uint tile_end, uint lid)
{
    const int first = lid == 0, last = lid == WG_SIZE - 1;
    const uint some = first ? window.left_some : last ? window.right_some : tile + lid <= tile_end;
    const uint number = first ? window.left : last ? window.right : tile + lid - 1;
    segment_t segment = {arc_nominal(0, m, segments, some ? number : 0), 0, 0, 0};
    segment.count = some ? arc_nominal(0, m, segments, number + 1) - segment.first : 0;
    segment.at = segment.first - window.from;
    if (first && window.left + 1 != tile) {
        segment.at = LEFT_AT;
        segment.apart = 1;
    }
    if (last && window.right != tile_end) {
        segment.at = RIGHT_AT;
        segment.apart = 1;
    }
    return segment;
}

// The lowest candidate of the column of the segment's first nominal candidate; that candidate itself if its column ends
// after the segment.
inline point_t item_column_low(global const real_t *points, uint m, const window_t window, const segment_t segment,
                               local const point_t *candidates)
{
    const point_t here = candidates[INDEX(segment.at)];
    point_t low = here;
    if (segment.first + segment.count == m || here.x != candidates[INDEX(segment.at + segment.count)].x) {
        uint begin = segment.first;
        while (!segment.apart && begin > window.from && candidates[INDEX(begin - 1 - window.from)].x == here.x)
            --begin;
        if (begin < segment.first)
            low = candidates[INDEX(begin - window.from)];
        if ((segment.apart || begin == window.from) && begin > 0 && points[2 * (size_t)begin - 2] == here.x)
            low = POINT(points, arc_column(points, 0, begin));
    }
    return low;
}
