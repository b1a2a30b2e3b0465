<%page args="method='bullington', variant='group', wg_size=256, items_per_thread=1"/>\
// diffraction: the loss in dB by diffraction over the terrain between one transmitter and every cell of a map.
//
//   T . . . . . .      one work-item walks the profile of one cell: where the ray crosses the lines through the centres
//     * | . . . .      of the cells (columns, or rows for a steep ray), at most one cell side after the other along that
//       * | . . .      axis, the height is interpolated between the two nearest centres
//         * | . .      a group takes a tile of the map, ${"one cell" if wg_size == 1 else "whose profiles read the same heights"}
//
// One pass over a profile keeps three numbers: the steepest slopes seen from both ends, and the clearance of the path in
// Fresnel zones. Every height of the profile counts: nothing is sampled or shared. O(rows + columns) for each cell.
// Source: ITU-R P.526-15, ${"4.5.1 (Bullington)" if method == "bullington" else "4.1 (single knife edge, the one with the greatest loss)"}.
#include "portable.h"
#define WG_SIZE ${wg_size}
#define TILE_COLUMNS ${min(wg_size, 16)}
#define TILE_ROWS ${max(wg_size // 16, 1)}
#include "radio/diffraction.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void diffraction(global const float *ground, const uint rows, const uint columns,
                 const float site_column, const float site_row, const float site_height, const float mobile_height,
                 const float a, const float b, const float d, const float e,
                 const float half_curvature, const float per_wavelength, const ulong first, global float *losses)
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
        float from_site = -INFINITY, from_cell = -INFINITY, clearest = -INFINITY;
        bool known = true;
        for (; (last - at) * step > 0; at += step) {
            const float gone = ((float)at - start) * sign, rest = span - gone;
            const float side = clamp(other + turn * gone, 0.0f, (float)most);
            const int low = min((int)side, max(most - 1, 0));
            const float part = side - (float)low;
            global const float *pair = ground + ((uint)at * along + (uint)low * across);
            const float left_height = pair[0], right_height = most > 0 ? pair[across] : left_height;
            float height = left_height + part * (right_height - left_height);
            known = known && height == height;
            height = height - site_height + bulge * gone * rest;
            const float clearance = height - slope * gone, per_both = 1.0f / (gone * rest);
            clearest = fmax(clearest, clearance * fabs(clearance) * per_both);
% if method == "bullington":
            from_site = fmax(from_site, height * rest * per_both);
            from_cell = fmax(from_cell, (height - end) * gone * per_both);
% endif
        }
        // nu^2 is twice the squared height over the wavelength and the two distances to the edge
        const float to_nu = 2.0f * per_wavelength * span * (span / fmax(metres, 1e-20f));
        float nu = clearest >= 0.0f ? sqrt(clearest * to_nu) : -sqrt(-clearest * to_nu);
% if method == "bullington":
        if (from_site >= slope) {  // no line of sight: the edge is where both horizons' lines meet
            const float edge = clamp((end + from_cell * span) / (from_site + from_cell), 0.0f, span);
            const float over = (from_site - slope) * edge;
            nu = over * sqrt(to_nu / fmax(edge * (span - edge), 1e-20f));
        }
        const float loss = bullington_loss(nu, metres * 0.001f);
% else:
        const float loss = edge_loss(nu);
% endif
        losses[first + cell] = known && end == end ? loss : NAN;
    }
}
