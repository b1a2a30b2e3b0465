<%page args="real='float', filtered=True, keep=False, picked=True, result='list', bins=2048, variant='serial', wg_size=1, items_per_thread=2048, header=4, wild=7"/>\
// tile_hull: the convex hull of every tile of points, whatever their order, by one work-item; what it is for says `result`.
//
//   ids     | 7 1 9 .. | 4 0 .. | ..       ${"rows of points" if picked else "here every stride-th row of points"}; a tile of at most ${items_per_thread}
//             what is in a box in the hull goes; sort by x, y, id; lower hood, upper hood
//   list      ids of the vertices, appended to another list: hulls of hulls until one tile is left
//   hull      records (x, y, id) of a list that is one tile: counts in the first ${header}, then the corners of the hoods from
//             left to right, lower and upper by turns
//   bounds    what lies inside the hull of one tile for certain: for sieve.cl
//
// sizes[] holds the lengths of lists, which the host need not know. A list that overran its capacity counts as empty.
// sizes[WILD] becomes 1 when a point is NaN or infinite.
// Reads each point once, writes the vertices. Cost: the sort by merging, O(n log n) in local memory.
#define REAL ${real}
#define FILTERED ${int(filtered)}
#include "geometry/orient2d.h"
#define KEEP ${int(keep)}
#include "hood/hood.h"
#define WG_SIZE ${wg_size}
#define TILE ${items_per_thread}
#define WILD ${wild}
#define HEADER ${header}
typedef struct { real_t x, y; uint id; } vertex_t;
% if picked and result == "bounds":
#define ID(k) ids[(k) * step]                // of more than a tile some
% elif picked:
#define ID(k) ids[begin + (k)]
% else:
#define ID(k) ((uint)((begin + (k)) * stride))
% endif

// Before one another in the order of x, y and id: places of a tile.
#define BEFORE(a, b) (x[a] < x[b] || (x[a] == x[b] && (y[a] < y[b] || (y[a] == y[b] && ID(a) < ID(b)))))

// Andrew's monotone chain.
inline uint item_hood(local const real_t *x, local const real_t *y, local const ushort *sorted, uint count,
                      local ushort *hood, uint side)
{
    uint size = 0;
    point_t below = 0, top = 0;              // the two corners on top of the stack
    for (uint i = 0; i < count; ++i) {
        const uint at = sorted[i];
        const point_t p = (point_t)(x[at], y[at]);
        if (size > 0 && p.x == top.x && p.y == top.y)
            continue;
        while (size > 1) {
            const int turn = hood_turn(side, below, top, p);
            if (IS_CORNER(turn))
                break;
            --size;
            top = below;
            if (size > 1)
                below = (point_t)(x[hood[size - 2]], y[hood[size - 2]]);
        }
        hood[size++] = at;
        below = top;
        top = p;
    }
    return size;
}
% if result == "bounds":
#define BINS ${bins}
#include "geometry/sieve.h"

// A hood and how its coordinates are scaled.
typedef struct { local const real_t *x, *y; local const ushort *corners; uint count; real_t left, low; scale_t across, up; } chain_t;

// Its height at some x, or `none` where it does not reach.
inline float height(const chain_t *chain, float at, float none)
{
    uint lo = 0, hi = chain->count - 1;
    while (lo + 1 < hi) {
        const uint mid = (lo + hi) / 2;
        if (scaled(chain->x[chain->corners[mid]], chain->left, chain->across) <= at)
            lo = mid;
        else
            hi = mid;
    }
    const uint a = chain->corners[lo], b = chain->corners[hi];
    const float ax = scaled(chain->x[a], chain->left, chain->across), bx = scaled(chain->x[b], chain->left, chain->across);
    const float ay = scaled(chain->y[a], chain->low, chain->up), by = scaled(chain->y[b], chain->low, chain->up);
    return line_height((float2)(ax, ay), (float2)(bx, by), at, none);
}
% endif

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
% if picked:
void tile_hull(global const real_t *points, global const uint *ids, const uint in, const uint capacity,
% else:
void tile_hull(global const real_t *points, const ulong stride, const uint samples,
% endif
               global uint *sizes,
% if result == "list":
               const uint out, const uint room, global uint *list)
% elif result == "hull":
               global vertex_t *hull)
% else:
               global frame_t *frame, global float2 *bounds)
% endif
{
    local real_t x[TILE], y[TILE];
    local ushort order[TILE], hoods[2 * TILE];
% if picked:
    const uint total = sizes[in] > capacity ? 0 : sizes[in];
% else:
    const uint total = samples;
% endif
% if result == "list":
% if picked:
    if (total <= TILE) {                                // one tile is left: its hull is another launch's
        if (get_group_id(0) == 0) {
            for (uint i = 0; i < total; ++i)
                list[i] = ids[i];
            sizes[out] = total;
        }
        return;
    }
% endif
    const uint tiles = (total + TILE - 1) / TILE, share = tiles ? (total + tiles - 1) / tiles : 0;
    for (uint tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
    const uint begin = min(tile * share, total), count = min(share, total - begin);
% else:
% if result == "bounds":
    const uint step = (total + TILE - 1) / TILE, count = step ? total / step : 0;
% else:
    const uint begin = 0, count = total > TILE ? 0 : total;
% endif
    {
% endif
    int wild = 0;
    for (uint i = 0; i < count; ++i) {
        const point_t p = CLGEOM_LOAD2(${real}, points, (size_t)ID(i));
        x[i] = p.x;
        y[i] = p.y;
% if real != "int":
        wild |= !(isfinite(p.x) && isfinite(p.y));
% endif
    }
    if (wild)
        sizes[WILD] = 1;

    // Those strictly inside the box between the outermost points on the diagonals go first: it lies in the hull.
    uint rest = 0;
    {
        point_t far[4];                                 // NE, NW, SW, SE
        float reach[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
        for (uint i = 0; i < count; ++i) {
            const float sum = (float)x[i] + (float)y[i], difference = (float)y[i] - (float)x[i];
% for q, key in enumerate(("sum", "difference", "-sum", "-difference")):
            if (${key} > reach[${q}]) {
                reach[${q}] = ${key};
                far[${q}] = (point_t)(x[i], y[i]);
            }
% endfor
        }
        const int boxed = reach[0] > -INFINITY && reach[1] > -INFINITY && reach[2] > -INFINITY && reach[3] > -INFINITY;
        const real_t west = far[1].x > far[2].x ? far[1].x : far[2].x, east = far[0].x < far[3].x ? far[0].x : far[3].x;
        const real_t south = far[2].y > far[3].y ? far[2].y : far[3].y, north = far[0].y < far[1].y ? far[0].y : far[1].y;
        for (uint i = 0; i < count; ++i) {
            order[rest] = i;
            rest += !(boxed & (x[i] > west) & (x[i] < east) & (y[i] > south) & (y[i] < north));
        }
    }
    // Merge sort of places: by insertion within runs of 8, then runs twice as long each time.
    local ushort *from = order, *to = hoods;
    for (uint run = 0; run < rest; run += 8)
        for (uint i = run + 1; i < min(run + 8, rest); ++i) {
            const ushort moved = order[i];
            uint k = i;
            for (; k > run && BEFORE(moved, order[k - 1]); --k)
                order[k] = order[k - 1];
            order[k] = moved;
        }
    for (uint width = 8; width < rest; width *= 2) {
        for (uint base = 0; base < rest; base += 2 * width) {
            const uint middle = min(base + width, rest), end = min(base + 2 * width, rest);
            uint a = base, b = middle, k = base;
            while (a < middle && b < end) {
                const ushort left = from[a], right = from[b];
                const uint later = BEFORE(right, left);
                to[k++] = later ? right : left;
                b += later;
                a += !later;
            }
            while (a < middle)
                to[k++] = from[a++];
            while (b < end)
                to[k++] = from[b++];
        }
        local ushort *const swap = from;
        from = to;
        to = swap;
    }
    if (from != order)
        for (uint i = 0; i < rest; ++i)
            order[i] = from[i];
    const uint lower = item_hood(x, y, order, rest, hoods, 0), upper = item_hood(x, y, order, rest, hoods + TILE, 1);
% if result == "list":
    // The hoods share their ends.
    const uint found = lower + (upper > 2 ? upper - 2 : 0), place = atomic_add(&sizes[out], found);
    for (uint k = 0; k < found; ++k)
        if (place + k < room)
            list[place + k] = ID(hoods[k < lower ? k : TILE + k - lower + 1]);
    }
% elif result == "hull":
    for (uint k = 0; k < lower + upper; ++k) {
        const uint side = k >= lower, at = side ? k - lower : k;
        const uint place = hoods[side * TILE + at];
        const vertex_t vertex = {x[place], y[place], ID(place)};
        hull[HEADER + 2 * at + side] = vertex;
    }
    hull[0].id = lower;
    hull[1].id = upper;
    hull[2].id = sizes[WILD];
    }
% else:
    // The frame: bins from the leftmost vertex to the rightmost, heights from the lowest to the highest.
    const uint leftmost = lower ? hoods[0] : 0, rightmost = lower ? hoods[lower - 1] : 0;
    const real_t left = x[leftmost], right = x[rightmost];
    real_t low = y[leftmost], high = low;
    for (uint k = 0; k < lower; ++k)
        low = y[hoods[k]] < low ? y[hoods[k]] : low;
    for (uint k = 0; k < upper; ++k)
        high = y[hoods[TILE + k]] > high ? y[hoods[TILE + k]] : high;
% if real == "int":
    const scale_t width = (uint)right - (uint)left, rise = (uint)high - (uint)low;
% else:
    const scale_t width = right - left, rise = high - low;
% endif
    const int usable = lower > 1 && upper > 1 && LEAST < width && width < MOST && LEAST < rise && rise < MOST;
    const scale_t across = usable ? BINS / width : 0, up = usable ? 1 / rise : 0;
    const chain_t chains[2] = {{x, y, hoods, lower, left, low, across, up}, {x, y, hoods + TILE, upper, left, low, across, up}};
    for (uint bin = 0; bin < BINS; ++bin) {
        float2 bound = (float2)(NOTHING, -NOTHING);
        if (usable) {
            const float a = bin - PAD, b = bin + 1 + PAD;
            bound = bin_bounds(bin, height(&chains[0], a, NOTHING), height(&chains[0], b, NOTHING),
                               height(&chains[1], a, -NOTHING), height(&chains[1], b, -NOTHING));
        }
        bounds[bin] = bound;
    }
    frame_t found = {left, low, 0, 0, 0, 0, across, up};
    // The box between the outermost vertices on the diagonals, which lies in the hull: NE, NW, SW, SE.
    point_t far[4];
    float reach[4] = {-NOTHING, -NOTHING, -NOTHING, -NOTHING};
    for (uint k = 0; k < (usable ? lower + upper : 0); ++k) {
        const uint at = hoods[k < lower ? k : TILE + k - lower];
        const float along = scaled(x[at], left, across) / BINS, above = scaled(y[at], low, up);
        const float reached[4] = {along + above, above - along, -along - above, along - above};
        for (uint q = 0; q < 4; ++q)
            if (reached[q] > reach[q]) {
                reach[q] = reached[q];
                far[q] = (point_t)(x[at], y[at]);
            }
    }
    if (usable) {
        found.box_left = far[1].x > far[2].x ? far[1].x : far[2].x;
        found.box_right = far[0].x < far[3].x ? far[0].x : far[3].x;
        found.box_bottom = far[2].y > far[3].y ? far[2].y : far[3].y;
        found.box_top = far[0].y < far[1].y ? far[0].y : far[1].y;
    }
    *frame = found;
    }
% endif
}
