<%page args="real='float', filtered=True, keep=False, picked=True, result='list', bins=2048, variant='group', wg_size=512, items_per_thread=4"/>\
// tile_hull: the convex hull of every tile of points, whatever their order; what it is for says `result`.
//
//   ids     | 7 1 9 .. | 4 0 .. | ..       ${"rows of points" if picked else "here every stride-th row of points"}; a tile of at most ${wg_size * items_per_thread}
//             sort by x, y, id; lower hood, upper hood       in local memory, by one work-group
//   list      ids of the vertices, appended to another list: hulls of hulls until one tile is left
//   hull      records (x, y, id) of the vertices, counter-clockwise, of a list that is one tile
//   bounds    what lies inside the hull of one tile for certain: for sieve.cl
//
// sizes[] holds the lengths of lists, which the host need not know. A list that overran its capacity counts as empty.
// sizes[WILD] becomes 1 when a point is NaN or infinite.
// Reads each point once, writes the vertices. Cost: the sort by merging, O(n log n) in local memory.
#include "portable.h"
#define CLGEOM_COORD_${real}
#define CLGEOM_FILTERED ${int(filtered)}
#include "orient2d.h"
typedef ${real} real_t;
typedef ${real}2 point_t;
#define KEEP ${int(keep)}
#include "hood.h"
#define WG_SIZE ${wg_size}
#define ITEMS ${items_per_thread}            // points of a work-item
#define TILE (WG_SIZE * ITEMS)
#define WILD 7
#define HEADER 3                             // records before those of vertices
typedef struct { real_t x, y; uint id; } vertex_t;
<%
    sides_at_once = 2 if wg_size > 1 else 1
    hood_items = wg_size // sides_at_once
%>\
% if picked and result == "bounds":
#define ID(k) ids[(k) * step]                // of more than a tile some
% elif picked:
#define ID(k) ids[begin + (k)]
% else:
#define ID(k) ((uint)((begin + (k)) * stride))
% endif

// Before one another in the order of x, y and id: places of a tile.
#define BEFORE(a, b) (x[a] < x[b] || (x[a] == x[b] && (y[a] < y[b] || (y[a] == y[b] && ID(a) < ID(b)))))

% if variant == "serial":
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
            const int turn = TURN(side, below, top, p);
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
% else:
#define HOOD_ITEMS ${hood_items}
#define STRIP (TILE / HOOD_ITEMS)
#define SORTED(i) sorted[i]
#include "hood_group.h"
% endif
% if result == "bounds":
#define BINS ${bins}
#define ENDS ${min(64, wg_size)}
#include "sieve.h"

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
    if (!(ax <= at && at <= bx && ax < bx))
        return none;
    return ay + (by - ay) * ((at - ax) / (bx - ax));
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
    local ushort order[TILE];
    local uint hood_memory[TILE];                      // holds other things before the hoods
    local ushort *const hoods = (local ushort *)hood_memory;
    local uint place;
% if result == "bounds":
    local real_t lows[ENDS], highs[ENDS];
% endif
% if variant == "group":
    local ushort merge_sizes[2 * HOOD_ITEMS], tangent_p[2 * HOOD_ITEMS], tangent_q[2 * HOOD_ITEMS];
% endif
    const uint lid = get_local_id(0);
% if picked:
    const uint total = sizes[in] > capacity ? 0 : sizes[in];
% else:
    const uint total = samples;
% endif
% if result == "list":
% if picked:
    if (total <= TILE) {                                // one tile is left: its hull is another launch's
        if (get_group_id(0) == 0) {
            for (uint i = lid; i < total; i += WG_SIZE)
                list[i] = ids[i];
            if (lid == 0)
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
    for (uint i = lid; i < count; i += WG_SIZE) {
        const point_t p = CLGEOM_LOAD2(${real}, points, (size_t)ID(i));
        x[i] = p.x;
        y[i] = p.y;
        order[i] = i;
% if real != "int":
        wild |= !(isfinite(p.x) && isfinite(p.y));
% endif
    }
    if (wild)
        sizes[WILD] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);

% if variant == "serial":
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
% elif not picked and items_per_thread >= 4:
    // As above, by all: of points of everywhere the box leaves few.
    float reach[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    uint far[4] = {0, 0, 0, 0};
    for (uint i = lid; i < count; i += WG_SIZE) {
        const float sum = (float)x[i] + (float)y[i], difference = (float)y[i] - (float)x[i];
% for q, key in enumerate(("sum", "difference", "-sum", "-difference")):
        if (${key} > reach[${q}]) {
            reach[${q}] = ${key};
            far[${q}] = i;
        }
% endfor
    }
    local float *const reaches = (local float *)hood_memory;
    local ushort *const fars = order;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint q = 0; q < 4; ++q) {
        reaches[q * WG_SIZE + lid] = reach[q];
        fars[q * WG_SIZE + lid] = far[q];
    }
    if (lid == 0)
        place = 0;
    for (uint apart = WG_SIZE / 2; apart > 0; apart /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = lid; k < 4 * apart; k += WG_SIZE) {
            const uint at = k / apart * WG_SIZE + k % apart;
            if (reaches[at + apart] > reaches[at]) {
                reaches[at] = reaches[at + apart];
                fars[at] = fars[at + apart];
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint ne = fars[0], nw = fars[WG_SIZE], sw = fars[2 * WG_SIZE], se = fars[3 * WG_SIZE];
    const int boxed = reaches[0] > -INFINITY && reaches[WG_SIZE] > -INFINITY && reaches[2 * WG_SIZE] > -INFINITY &&
                      reaches[3 * WG_SIZE] > -INFINITY;
    const real_t west = x[nw] > x[sw] ? x[nw] : x[sw], east = x[ne] < x[se] ? x[ne] : x[se];
    const real_t south = y[sw] > y[se] ? y[sw] : y[se], north = y[ne] < y[nw] ? y[ne] : y[nw];
    barrier(CLK_LOCAL_MEM_FENCE);                       // all have read what order holds now
    for (uint i = lid; i < count; i += WG_SIZE)
        if (!(boxed && x[i] > west && x[i] < east && y[i] > south && y[i] < north))
            order[atomic_inc(&place)] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint rest = place;
    barrier(CLK_LOCAL_MEM_FENCE);
% else:
    const uint rest = count;
% endif
    // Merge sort of places: by insertion within the ITEMS of a work-item, then runs twice as long each time.
    local ushort *from = order, *to = hoods;
% if variant == "serial":
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
% else:
    const uint first = lid * ITEMS;
    for (uint i = first + 1; i < min(first + ITEMS, rest); ++i) {
        const ushort moved = order[i];
        uint k = i;
        for (; k > first && BEFORE(moved, order[k - 1]); --k)
            order[k] = order[k - 1];
        order[k] = moved;
    }
    for (uint width = ITEMS; width < rest; width *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint base = first & ~(2 * width - 1), middle = min(base + width, rest), end = min(base + 2 * width, rest);
        if (first < rest) {
            // Of the first - base least of both runs this many are of the rest one.
            const uint skip = first - base;
            uint lo = skip > end - middle ? skip - (end - middle) : 0, hi = min(skip, middle - base);
            while (lo < hi) {
                const uint mid = (lo + hi) / 2;
                if (BEFORE(from[middle + skip - mid - 1], from[base + mid]))
                    hi = mid;
                else
                    lo = mid + 1;
            }
            uint a = base + lo, b = middle + skip - lo;
            for (uint k = first; k < min(first + ITEMS, rest); ++k) {
                const int later = a == middle || (b < end && BEFORE(from[b], from[a]));
                to[k] = later ? from[b++] : from[a++];
            }
        }
        local ushort *const swap = from;
        from = to;
        to = swap;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (from != order) {                                // the same for all
        for (uint i = lid; i < rest; i += WG_SIZE)
            order[i] = from[i];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
% if sides_at_once == 2:
    const uint my_side = lid / HOOD_ITEMS;
    const merge_t merge = {merge_sizes + my_side * HOOD_ITEMS, tangent_p + my_side * HOOD_ITEMS, tangent_q + my_side * HOOD_ITEMS};
    group_hood(x, y, order, rest, hoods + my_side * TILE, merge, lid % HOOD_ITEMS, my_side);
    const uint lower = merge_sizes[0], upper = merge_sizes[HOOD_ITEMS];
% else:
    const merge_t merge = {merge_sizes, tangent_p, tangent_q}, other = {merge_sizes + 1, tangent_p + 1, tangent_q + 1};
    const uint lower = group_hood(x, y, order, rest, hoods, merge, 0, 0);
    const uint upper = group_hood(x, y, order, rest, hoods + TILE, other, 0, 1);
% endif
% endif
% if result == "list":
    // The hoods share their ends.
    const uint inner = upper > 2 ? upper - 2 : 0, found = lower + inner;
    if (lid == 0)
        place = atomic_add(&sizes[out], found);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = lid; k < found; k += WG_SIZE)
        if (place + k < room)
            list[place + k] = ID(hoods[k < lower ? k : TILE + k - lower + 1]);
    barrier(CLK_LOCAL_MEM_FENCE);
    }
% elif result == "hull":
    // One hood is both when the points are on a line: the way back is the way there.
    if (lid == 0)
        place = lower != upper;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = lid; k < min(lower, upper); k += WG_SIZE)
        if (hoods[k] != hoods[TILE + k])
            place = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint found = place ? lower + upper - 2 : lower;
    for (uint k = lid; k < found; k += WG_SIZE) {
        const uint at = hoods[k < lower ? k : TILE + lower + upper - 2 - k];
        const vertex_t vertex = {x[at], y[at], ID(at)};
        hull[HEADER + k] = vertex;
    }
    if (lid == 0) {
        hull[0].id = found;
        hull[1].id = place ? 2 : min(lower, 2u) - 1;
        hull[2].id = sizes[WILD];
    }
    }
% else:
    // The frame: bins from the leftmost vertex to the rightmost, heights from the lowest to the highest.
    const uint leftmost = lower ? hoods[0] : 0, rightmost = lower ? hoods[lower - 1] : 0;
    if (lid < ENDS) {
        real_t low = y[leftmost], high = low;
        for (uint k = lid; k < max(lower, upper); k += ENDS) {
            const real_t of_lower = y[hoods[min(k, lower - 1)]], of_upper = y[hoods[TILE + min(k, upper - 1)]];
            low = of_lower < low ? of_lower : low;
            high = of_upper > high ? of_upper : high;
        }
        lows[lid] = low;
        highs[lid] = high;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const real_t left = x[leftmost], right = x[rightmost];
    real_t low = lows[0], high = highs[0];
    for (uint k = 1; k < ENDS; ++k) {
        low = lows[k] < low ? lows[k] : low;
        high = highs[k] > high ? highs[k] : high;
    }
% if real == "int":
    const scale_t width = (uint)right - (uint)left, rise = (uint)high - (uint)low;
% else:
    const scale_t width = right - left, rise = high - low;
% endif
    const int usable = lower > 1 && upper > 1 && LEAST < width && width < MOST && LEAST < rise && rise < MOST;
    const scale_t across = usable ? BINS / width : 0, up = usable ? 1 / rise : 0;
    const chain_t chains[2] = {{x, y, hoods, lower, left, low, across, up}, {x, y, hoods + TILE, upper, left, low, across, up}};
    for (uint bin = lid; bin < BINS; bin += WG_SIZE) {
        float2 bound = (float2)(NOTHING, -NOTHING);
        if (usable) {
            const float a = bin - PAD, b = bin + 1 + PAD;
            bound.x = fmax(height(&chains[0], a, NOTHING), height(&chains[0], b, NOTHING)) + SLACK;
            bound.y = fmin(height(&chains[1], a, -NOTHING), height(&chains[1], b, -NOTHING)) - SLACK;
        }
        bounds[bin] = bound;
    }
    if (lid == 0) {
        frame_t found = {left, low, 0, 0, 0, 0, across, up};
% if variant == "serial":
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
% endif
        *frame = found;
    }
    }
% endif
}
