<%page args="real='float', directions=64, fine=16, variant='group', wg_size=1024, items_per_thread=1"/>\
// cap_extremes: of a list of points outside a polygon, the extreme ones in many directions, group by group.
//
//   caps        the corners of a polygon, at most ${directions}, and its edges; a cap is the area beyond an edge
//   directions  | ${fine} from the normal of the edge before corner 0 to that of the edge after it | ${fine} about corner 1 | ..
//   candidates  | (reach, row) in direction 0, 1, .. of group 0 | of group 1 | ..
//   slots       the number of directions: ${fine} times the number of corners
//
// A point can only be extreme in a direction about a corner if it is beyond an edge of that corner; those edges are
// neighbours. Its reach is measured from the corner, so that rounding is relative to the cap, not to the cloud. The reach
// is interpolated between the normals as the direction is. Two passes over the points find the largest reach, then the
// point; of equally far points any. The cap beyond a long edge is flat, and nearly all its corners are extreme in
// directions close to the normal: about the ends of a long edge directions are closer together towards both normals.
<%
    half, ratio = fine // 2, 4.0 ** (16 // fine)
    gathered = [0.0, *(0.5 / ratio ** (half - k) for k in range(1, half)), *(1 - 0.5 / ratio ** (k - half) for k in range(half, fine))]
%>\
#define REAL ${real}
#include "geometry/directions.h"
#define DIRECTIONS ${directions}
#define FINE ${fine}
#define SLOTS (DIRECTIONS * FINE)
#define WG_SIZE ${wg_size}
#define AT(corner, k) ((k) * DIRECTIONS + (corner))      // neighbouring caps are in different banks of local memory

// The reach of a point in a direction between two normals, from its reach in both.
#define BETWEEN(reach, share) ordered((reach).x + ((reach).y - (reach).x) * (share))
#define LONG 1                           // after the map, with which coordinates have standard deviation 1
#define AFTER(corner) ((corner) + 1 < corners ? (corner) + 1 : 0)
#define AHEAD_OF(corner) ((corner) ? (corner) - 1 : corners - 1)
#define WAY_TO(p, corner) way(map, caps[corner].x, caps[corner].y, (p).x, (p).y)

// Distances of a point beyond the edges before and after a corner.
inline float2 reach_about(const affine_t map, local const cap_t *caps, uint before, uint corner, point_t p)
{
    const float2 here = WAY_TO(p, corner);
    return (float2)(here.x * caps[before].out_x + here.y * caps[before].out_y,
                    here.x * caps[corner].out_x + here.y * caps[corner].out_y);
}
#define REACH(p, corner) reach_about(map, caps, AHEAD_OF(corner), corner, p)

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void cap_extremes(global const real_t *points, global const uint *list, const uint in, const uint capacity,
                  global const uint *sizes, global const affine_t *map_found, global const cap_t *polygon,
                  global const uint *number, global uint2 *candidates, global uint *slots)
{
    local cap_t caps[DIRECTIONS];
    local float2 fan[DIRECTIONS];            // differences from corner 0
    local uint reached[SLOTS], who[SLOTS];
    const uint lid = get_local_id(0), total = sizes[in] > capacity ? 0 : sizes[in], corners = *number;
    const affine_t map = *map_found;
    const cap_t start = polygon[0];
    for (uint k = lid; k < corners; k += WG_SIZE) {
        const cap_t cap = polygon[k];
        caps[k] = cap;
        fan[k] = way(map, start.x, start.y, cap.x, cap.y);
        for (uint slot = k; slot < SLOTS; slot += DIRECTIONS) {
            reached[slot] = ordered(0);
            who[slot] = cap.row;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint farther = 0;                        // bit b: a point of iteration b, b + 32 .. was farther than others
% for passing in (0, 1):
    for (uint i = get_global_id(0), turn = 0; i < total; i += get_global_size(0), ++turn) {
% if passing:
        if (!(farther >> turn % 32 & 1))
            continue;
% endif
        const uint row = list[i];
        const point_t p = CLGEOM_POINT(points, (size_t)row);
        uint corner = fan_index(fan, corners, WAY_TO(p, 0));
        float2 reach = REACH(p, corner);
        for (uint steps = 1; steps < corners && reach.x > 0; ++steps) {
            corner = AHEAD_OF(corner);
            reach = REACH(p, corner);
        }
        for (uint steps = 0; steps < corners && (reach.x > 0 || reach.y > 0); ++steps) {
            const int gathers = max(caps[corner].length, caps[AHEAD_OF(corner)].length) > LONG;
            uint known[FINE];                // loaded together; if another item raises one meanwhile, that costs one more atomic
#pragma unroll
            for (uint k = 0; k < FINE; ++k)
                known[k] = reached[AT(corner, k)];
% for k in range(fine):
            {
                const uint far = BETWEEN(reach, gathers ? ${gathered[k]}f : ${k / fine}f);
% if passing:
                if (far == known[${k}])
                    atomic_xchg(&who[AT(corner, ${k})], row);
% else:
                if (far > known[${k}]) {
                    atomic_max(&reached[AT(corner, ${k})], far);
                    farther |= 1u << turn % 32;
                }
% endif
            }
% endfor
            corner = AFTER(corner);
            reach = REACH(p, corner);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
% endfor
    for (uint k = lid; k < corners * FINE; k += WG_SIZE)
        candidates[get_group_id(0) * SLOTS + k] = (uint2)(reached[AT(k / FINE, k % FINE)], who[AT(k / FINE, k % FINE)]);
    if (get_global_id(0) == 0)
        *slots = corners * FINE;
}
