<%page args="real='float', directions=64, fine=16, variant='group', wg_size=1024, items_per_thread=1"/>\
// cap_extremes: of a list of points outside a polygon, the extreme ones in many directions, group by group.
//
//   polygon     at most ${directions} corners; between two of them lies a cap, with the points beyond that edge
//   directions  | ${fine} from the normal of the edge before corner 0 to that of the edge after it | ${fine} about corner 1 | ..
//   candidates  | (reach, row) in direction 0, 1, .. of group 0 | of group 1 | ..
//   slots       how many directions there are: ${fine} times the number of different corners
//
// What is extreme in a direction about a corner lies in the cap before or after it: a point is looked at in the directions
// about both corners of its cap. From one normal to the next its reach goes as the direction does. Those on the way lose
// against the corner. Twice over the points: how far, then who; of equally far ones any.
#include "portable.h"
#define CLGEOM_COORD_${real}
typedef ${real} real_t;
typedef ${real}2 point_t;
#include "directions.h"
#define DIRECTIONS ${directions}
#define FINE ${fine}
#define SLOTS (DIRECTIONS * FINE)
#define WG_SIZE ${wg_size}
#define AT(corner, k) ((k) * DIRECTIONS + (corner))      // caps side by side: different banks of local memory

// The reach of a point in direction k of FINE from one normal to the next, by its reach in both.
#define BETWEEN(from, to, k) ordered((from) + ((to) - (from)) * ((k) * (1.0f / FINE)))

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void cap_extremes(global const real_t *points, global const uint *list, const uint in, const uint capacity,
                  global const uint *sizes, global const affine_t *map_found, global const uint *polygon,
                  global uint2 *candidates, global uint *slots)
{
    local float2 all[DIRECTIONS], fan[DIRECTIONS], normals[DIRECTIONS];
    local uint rows[DIRECTIONS], reached[SLOTS], who[SLOTS];
    local uint different;
    const uint lid = get_local_id(0), total = sizes[in] > capacity ? 0 : sizes[in];
    const affine_t map = *map_found;
    const float2 start = mapped(map, CLGEOM_LOAD2(${real}, points, (size_t)polygon[0]));
    for (uint k = lid; k < DIRECTIONS; k += WG_SIZE)
        all[k] = mapped(map, CLGEOM_LOAD2(${real}, points, (size_t)polygon[k])) - start;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = lid; k < DIRECTIONS; k += WG_SIZE) {
        uint place = 0, is_new = 1;
#pragma unroll 8
        for (uint i = 1; i <= k; ++i) {
            is_new = (all[i].x != all[i - 1].x || all[i].y != all[i - 1].y) && (all[i].x != 0 || all[i].y != 0);
            place += is_new;
        }
        if (is_new) {
            fan[place] = all[k];
            rows[place] = polygon[k];
        }
        if (k == DIRECTIONS - 1)
            different = place + 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint corners = different;
    for (uint k = lid; k < corners; k += WG_SIZE) {
        const float2 edge = fan[k + 1 < corners ? k + 1 : 0] - fan[k];
        const float size = sqrt(edge.x * edge.x + edge.y * edge.y);
        normals[k] = size > 0 ? (float2)(edge.y, -edge.x) / size : (float2)(0, 0);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint slot = lid; slot < SLOTS; slot += WG_SIZE) {
        const uint corner = slot % DIRECTIONS, k = slot / DIRECTIONS;
        reached[slot] = 0;
        if (corner < corners) {
            const float2 before = normals[corner ? corner - 1 : corners - 1], after = normals[corner];
            reached[slot] = BETWEEN(dot(fan[corner], before), dot(fan[corner], after), k);
            who[slot] = rows[corner];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint farther = 0;                        // bit b: a point of turn b, b + 32 .. was farther than others
% for passing in (0, 1):
    for (uint i = get_global_id(0), turn = 0; i < total; i += get_global_size(0), ++turn) {
% if passing:
        if (!(farther >> turn % 32 & 1))
            continue;
% endif
        const uint row = list[i];
        const float2 at = mapped(map, CLGEOM_LOAD2(${real}, points, (size_t)row)) - start;
        const uint cap = fan_place(fan, corners, at), next = cap + 1 < corners ? cap + 1 : 0;
        const float before = dot(at, normals[cap ? cap - 1 : corners - 1]), along = dot(at, normals[cap]), after = dot(at, normals[next]);
#pragma unroll
        for (uint k = 0; k < 2 * FINE; ++k) {
            const uint slot = AT(k < FINE ? cap : next, k % FINE);
            const uint far = k < FINE ? BETWEEN(before, along, k) : BETWEEN(along, after, k - FINE);
% if passing:
            if (far == reached[slot])
                who[slot] = row;
% else:
            if (far > reached[slot]) {
                atomic_max(&reached[slot], far);
                farther |= 1u << turn % 32;
            }
% endif
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
% endfor
    for (uint k = lid; k < corners * FINE; k += WG_SIZE)
        candidates[get_group_id(0) * SLOTS + k] = (uint2)(reached[AT(k / FINE, k % FINE)], who[AT(k / FINE, k % FINE)]);
    if (get_global_id(0) == 0)
        *slots = corners * FINE;
}
