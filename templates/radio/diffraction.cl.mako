<%page args="method='bullington', variant='group', wg_size=256, items_per_thread=1"/>\
// diffraction: the loss in dB by diffraction over the terrain between one transmitter and every cell of a map.
//
//   T . . . . . .      one work-item walks the profile of one cell: where the ray crosses the lines through the centres
//     * | . . . .      of the cells (columns, or rows for a steep ray), at most one cell side after the other along that
//       * | . . .      axis, the height is interpolated between the two nearest centres
//         * | . .      a group takes a tile of the map, ${"one cell" if wg_size == 1 else "whose profiles read the same heights"}
//
// One pass over a profile keeps three numbers: the steepest slopes seen from both ends, and the clearance of the path in
// Fresnel zones. With the smooth earth a second pass needs no heights. Every height of the profile counts: nothing is sampled or shared. O(rows + columns) for each cell.
// Source: ITU-R P.526-15, ${{"bullington": "4.5.1 (Bullington)", "complete": "4.5.2 (with a smooth earth)"}.get(method, "4.1 (single edge, the one with the greatest loss)")}.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define TILE_COLUMNS ${min(wg_size, 16)}
#define TILE_ROWS ${max(wg_size // 16, 1)}
#define HIGHEST 1e5f  // in m; greater heights are unknown
#include "radio/diffraction.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void diffraction(global const float *ground, const uint rows, const uint columns,
                 const float site_column, const float site_row, const float site_height, const float mobile_height,
                 const float a, const float b, const float d, const float e,
                 const float half_curvature, const float per_wavelength, const float site_above, const float admittance,
                 const ulong first, global float *losses)
{
    const uint tiles_across = (columns + TILE_COLUMNS - 1) / TILE_COLUMNS;
    const uint tiles = tiles_across * ((rows + TILE_ROWS - 1) / TILE_ROWS);
    const uint own_column = get_local_id(0) % TILE_COLUMNS, own_row = get_local_id(0) / TILE_COLUMNS;
    for (uint tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        const uint column = tile % tiles_across * TILE_COLUMNS + own_column;
        const uint row = tile / tiles_across * TILE_ROWS + own_row;
        if (column >= columns || row >= rows)
            continue;
        const ulong cell = (ulong)row * columns + column;
        // from the transmitter to the cell's centre, in cells; centres are at whole numbers
        const float right = (float)column - site_column, down = (float)row - site_row;
        const bool flat = fabs(right) >= fabs(down);
        const float span = flat ? fabs(right) : fabs(down);  // along the axis that is stepped along
        const float east = a * right + b * down, north = d * right + e * down;
        const float metres = sqrt(east * east + north * north);

        const float start = flat ? site_column : site_row, other = flat ? site_row : site_column;
        const float turn = span > 0.0f ? (flat ? down : right) / span : 0.0f;
        const float sign = (flat ? right : down) < 0.0f ? -1.0f : 1.0f;
        const int last = flat ? (int)column : (int)row, step = sign < 0.0f ? -1 : 1;
        const int most = (int)(flat ? rows : columns) - 1;
        const uint along = flat ? 1 : columns, across = flat ? columns : 1;  // less than 2^31 cells
        int at = step > 0 ? (int)floor(start) + 1 : (int)ceil(start) - 1;  // the first centre beyond the transmitter
        at = clamp(at, -1, (int)(flat ? columns : rows));  // a transmitter outside of the map: heights there are not known

        const float per_cell = span > 0.0f ? metres / span : 0.0f;
        const float bulge = half_curvature * per_cell * per_cell;
        const float end = ground[cell] + mobile_height - site_height;  // heights are above the transmitter's antenna
        const float slope = span > 0.0f ? end / span : 0.0f;
        horizon_t seen = no_horizon();
% if method == "complete":
        // the smooth surface that fits the profile, and how far the profile is above the direct line
        const float under_site = -site_above, under_cell = ground[cell] - site_height;
        float before = 0.0f, height_before = under_site, first_sum = 0.0f, second_sum = 0.0f;
        float above = -INFINITY, above_site = -INFINITY, above_cell = -INFINITY;
        const int begin = at;
% endif
        bool known = true;
        for (; (last - at) * step > 0; at += step) {
            const float gone = ((float)at - start) * sign, rest = span - gone;
            const float side = clamp(other + turn * gone, 0.0f, (float)most);
            const int low = min((int)side, max(most - 1, 0));
            const float part = side - (float)low;
            global const float *pair = ground + ((uint)at * along + (uint)low * across);
            const float left_height = pair[0], right_height = most > 0 ? pair[across] : left_height;
            // a height with no weight does not count, also where it is unknown
            float height = part == 0.0f ? left_height
                : part == 1.0f ? right_height : left_height + part * (right_height - left_height);
            known = known && fabs(height) < HIGHEST;  // NaN is not
            height -= site_height;
            const float per_both = 1.0f / (gone * rest);
% if method == "complete":
            const float step_sum = (gone - before);
            first_sum += step_sum * (height + height_before);
            second_sum += step_sum * (height * (2.0f * gone + before) + height_before * (gone + 2.0f * before));
            before = gone, height_before = height;
            const float over = height - slope * gone;
            above = fmax(above, over);
            above_site = fmax(above_site, over * rest * per_both);
            above_cell = fmax(above_cell, over * gone * per_both);
% endif
            seen = horizon_add(seen, height + bulge * gone * rest, end, slope, gone, rest, per_both);
        }
        const float to_nu = 2.0f * per_wavelength * span * (span / fmax(metres, 1e-20f)), length = metres * 0.001f;
% if method == "single":
        const float loss = edge_loss(nu_of_clearance(seen.clearest, to_nu));
% else:
        float loss = bullington_loss(nu_of_horizon(seen, end, slope, span, to_nu), length);
% endif
% if method == "complete":
        if (metres > 0.0f) {
            first_sum += (span - before) * (under_cell + height_before);
            second_sum += (span - before)
                * (under_cell * (2.0f * span + before) + height_before * (span + 2.0f * before));
            float low = (2.0f * first_sum - second_sum / span) / span, high = (second_sum / span - first_sum) / span;
            if (above > 0.0f) {
                low -= above * above_site / (above_site + above_cell);
                high -= above * above_cell / (above_site + above_cell);
            }
            const float site = -fmin(low, under_site), mobile = end - fmin(high, under_cell);
            const float smooth_end = mobile - site, smooth_slope = smooth_end / span;
            horizon_t smooth = no_horizon();
            for (int line = begin; (last - line) * step > 0; line += step) {
                const float gone = ((float)line - start) * sign, rest = span - gone, per_both = 1.0f / (gone * rest);
                smooth = horizon_add(smooth, bulge * gone * rest - site, smooth_end, smooth_slope, gone, rest, per_both);
            }
            const float edges = bullington_loss(nu_of_horizon(smooth, smooth_end, smooth_slope, span, to_nu), length);
            const float radius = fmin(0.0005f / half_curvature, 1e9f);
            const float frequency = per_wavelength * 0.299792458f;
            loss += fmax(smooth_earth_loss(length, frequency, site, mobile, radius, admittance) - edges, 0.0f);
        }
% endif
        losses[first + cell] = known && fabs(ground[cell]) < HIGHEST ? loss : NAN;
    }
}
