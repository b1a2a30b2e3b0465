<%page args="fields=('column', 'column_part', 'row', 'row_part', 'rise', 'forward_x', 'forward_y', 'forward_z', 'right_x', 'right_y', 'up_x', 'up_y', 'up_z', 'eirp', 'rise_counts', 'free', 'nearest', 'farthest', 'a0', 'b0', 'a1', 'b1', 'a2', 'b2', 'near_slope', 'street', 'table', 'across', 'across_most', 'along', 'along_most', 'both_most', 'downtilt'), lines=1, streets=False, patterns=True, tables=False, grounds=False, extras=False, near=False, ranges=False, bent=False, variant='group', wg_size=256, items_per_thread=1"/>\
<%
    widths = [8, 1] if variant == "serial" else [1]
    kinds = {1: ("float", "int", ""), 8: ("float8", "int8", "_8")}  # (type of numbers, of comparisons, suffix of names)
%>\
// best_server: for every cell the greatest received power, the transmitter that it comes from, and carrier to interference.
//
//   transmitters | row 0 | row 1 | ..     a row of ${len(fields)} numbers each, read by all cells alike
//   cell         ^ every transmitter in turn: distance, one logarithm, the antenna's angles, power; kept in registers
//   power, server, ratio                  one number each is written; group: a cell a work-item; serial: rows, in vectors
//
// The loss is the greatest of ${lines} line(s) in the logarithm of the distance (clgeom/radio/transmitters.py). The sum of
// the others' powers is in mW. Of equal powers the nearer transmitter's counts. "extras" are losses of each transmitter in each cell, NaN where it
// is not received;
% if bent:
// The first line has a loss of each metre beside it, and ends at a distance along the ground, where the second begins.
% endif
// "grounds" are heights of the ground. With n cells and t transmitters O(n t) arithmetic, and 10 bytes written a cell.
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "portable.h"
#define WG_SIZE ${wg_size}
#define FIELDS ${len(fields)}
% for k, name in enumerate(fields):
#define AT_${name.upper()} ${k}
% endfor
#define TABLE 362               // values of one cut of a measured pattern
#define PI_F 3.14159274f
% for width in widths:
<% T, flag, s = kinds[width] %>\

% if tables:
// The values of a cut at angles in radians, by lines between whole degrees.
inline ${T} value_of_cut${s}(global const float *cut, ${T} angle)
{
    ${T} at = angle * 57.29577951f;
    at = clamp(at - 360.0f * floor(at * (1.0f / 360.0f)), 0.0f, 360.0f);
    const ${flag} left = convert_${flag}(at);
    const ${T} part = at - convert_${T}(left);
% if width == 1:
    const float low = cut[left], high = cut[left + 1];
% else:
    const ${T} low = (${T})(${", ".join(f"cut[left.s{k}]" for k in range(width))});
    const ${T} high = (${T})(${", ".join(f"cut[left.s{k} + 1]" for k in range(width))});
% endif
    return low + part * (high - low);
}
% endif

// The model's loss; squares of the distance along the ground and of the height difference in m2.
inline ${T} loss_of${s}(global const float *r, const ${T} ground, const ${T} z2${f", const {T} into" if streets else ""})
{
    const ${T} log_d = log2(ground + r[AT_RISE_COUNTS] * z2);
    ${T} loss = r[AT_A0] + r[AT_B0] * log_d;
% if streets:
    const ${T} near = fmin(sqrt(ground) * 0.002f, (${T})1.0f);
    loss = fmax(loss, r[AT_A1] + r[AT_B1] * log_d + into + r[AT_NEAR_SLOPE] * near);
% elif bent:
    loss = ground > r[AT_BEND] ? r[AT_A1] + r[AT_B1] * log_d : loss + r[AT_LINEAR] * sqrt(ground + z2);
% for k in range(2, lines):
    loss = fmax(loss, r[AT_A${k}] + r[AT_B${k}] * log_d);
% endfor
% else:
% for k in range(1, lines):
    loss = fmax(loss, r[AT_A${k}] + r[AT_B${k}] * log_d);
% endfor
% endif
    return loss;
}

// Power in dBm that cells receive of one transmitter; x and y from it to the cells in m, z up.
inline ${T} power_of${s}(global const float *r, global const float *tables, const ${T} x, const ${T} y, const ${T} z,
                   const ${T} square)
{
    const ${T} ground = fmax(square, (${T})1.0f), z2 = z * z;  // a cell is at least 1 m from the transmitter
<% into = ", into" if streets else "" %>\
% if streets:
    // over the roofs and down into the street, by the angle between the street and the ray
    ${T} turn = fabs(atan2(x, y) - r[AT_STREET]) * 57.29577951f;
    turn = turn - 180.0f * floor(turn * (1.0f / 180.0f));
    turn = fmin(turn, 180.0f - turn);
    const ${T} into = turn < 35.0f ? -10.0f + 0.354f * turn
        : turn < 55.0f ? 2.5f + 0.075f * (turn - 35.0f) : 4.0f - 0.114f * (turn - 55.0f);
% endif
    ${T} loss = loss_of${s}(r, ground, z2${into});
% if near:
    const ${flag} is_near = ground < r[AT_NEAREST];
    if (${"is_near" if width == 1 else "any(is_near)"}) {
        // into free space; where the formula is below it at the end of the range, with half its slope until they meet
        const ${T} end = (${T})r[AT_NEAREST], log_end = log2(end + z2), log_here = log2(ground + z2);
        const ${T} below = r[AT_FREE] + 1.50514998f * (log_end + log_here) - loss_of${s}(r, end, z2${into});
        const ${T} least = r[AT_FREE] + 3.01029996f * log_here - fmax(below, (${T})0.0f);
        loss = (is_near & (least > loss)) ? least : loss;
    }
% endif
% if patterns:
    const ${T} forward = x * r[AT_FORWARD_X] + y * r[AT_FORWARD_Y] + z * r[AT_FORWARD_Z];
    const ${T} right = x * r[AT_RIGHT_X] + y * r[AT_RIGHT_Y];
    const ${T} up = x * r[AT_UP_X] + y * r[AT_UP_Y] + z * r[AT_UP_Z];
    const ${T} azimuth = atan2(right, forward);
    const ${T} rise = atan2(up, sqrt(forward * forward + right * right)) + r[AT_DOWNTILT];
% if tables:
    if (r[AT_TABLE] >= 0.0f) {
        global const float *across = tables + 2 * TABLE * (int)r[AT_TABLE], *along = across + TABLE;
        const ${T} behind = fabs(azimuth) / PI_F;
        // the second term is of the cut behind the antenna, where angles count from straight back
        const ${T} off = value_of_cut${s}(across, azimuth)
            + (1.0f - behind) * (value_of_cut${s}(along, -rise) - across[0])
            + behind * (value_of_cut${s}(along, PI_F + rise) - across[180]);
        return r[AT_EIRP] - loss - fmax(off, (${T})0.0f);
    }
% endif
    const ${T} across = fmin(r[AT_ACROSS] * azimuth * azimuth, (${T})r[AT_ACROSS_MOST]);
    const ${T} along = fmin(r[AT_ALONG] * rise * rise, (${T})r[AT_ALONG_MOST]);
    loss += fmin(across + along, (${T})r[AT_BOTH_MOST]);
% endif
    return r[AT_EIRP] - loss;
}
% endfor

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void best_server(global const float *transmitters, const uint count, global const float *tables,
                 global const float *grounds, global const float *extras,
                 const uint first_row, const uint rows, const uint columns,
                 const float a, const float b, const float d, const float e,
                 const float noise, const float sensitivity,
                 global float *powers, global short *servers, global float *ratios)
{
    const ulong cells = (ulong)rows * columns;
#if CLGEOM_SERIAL
    const uint share = (rows + get_global_size(0) - 1) / get_global_size(0);
    const uint from = min((ulong)rows, get_global_id(0) * (ulong)share), to = min(rows, from + share);
    for (uint row = from; row < to; row++) {
    uint column = 0;
#else
    for (ulong i = get_global_id(0); i < cells; i += get_global_size(0)) {
    const uint row = (uint)(i / columns);
    uint column = (uint)(i - (ulong)row * columns);
#endif
% for width in widths:
<% T, flag, s = kinds[width] %>\
% if variant == "serial":
    for (; column + ${width} <= columns; column += ${width}) {
        const ulong i = (ulong)row * columns + column;
% else:
    {
% endif
        ${T} best = (${T})(-INFINITY), best_mw = (${T})0.0f, others = (${T})0.0f, nearest = (${T})0.0f;
        ${flag} server = (${flag})(-1);
        for (uint t = 0; t < count; t++) {
            global const float *r = transmitters + (ulong)t * FIELDS;
            const ${flag} to_column = (int)column - (int)r[AT_COLUMN]${"" if width == 1 else " + (int8)(0, 1, 2, 3, 4, 5, 6, 7)"};
            const ${T} across = convert_${T}(to_column) + (0.5f - r[AT_COLUMN_PART]);
            const ${T} down = (${T})((float)((int)(first_row + row) - (int)r[AT_ROW]) + (0.5f - r[AT_ROW_PART]));
            ${T} z = (${T})r[AT_RISE];
% if grounds:
            const ${T} raised = ${"grounds[i]" if width == 1 else "vload8(0, grounds + i)"};
            z += fabs(raised) < (${T})1e5f ? raised : (${T})NAN;
% endif
            const ${T} x = a * across + b * down, y = d * across + e * down, square = x * x + y * y;
            ${T} power = power_of${s}(r, tables, x, y, z, square);
% if extras:
            power -= ${"extras[t * cells + i]" if width == 1 else "vload8(0, extras + t * cells + i)"};
            power = power < (${T})1e4f ? power : (${T})NAN;  // an infinite gain, or a value that marks no data
% endif
% if ranges:
            power = square <= r[AT_FARTHEST] ? power : (${T})NAN;
% endif
            const ${flag} known = power == power;
            const ${T} mw = known ? exp2(power * 0.332192809f) : (${T})0.0f;
            const ${flag} better = (power > best) | ((power == best) & (square < nearest));
            others += better ? best_mw : mw;
            best_mw = better ? mw : best_mw;
            best = better ? power : best;
            nearest = better ? square : nearest;
            server = better ? (${flag})(int)t : server;
        }
        const ${flag} heard = best >= (${T})sensitivity;
        const ${T} ratio = best - 3.01029996f * log2(others + noise);
        const ${T} power = server >= 0 ? best : (${T})NAN;
% if width == 1:
        powers[i] = power;
        servers[i] = heard ? (short)server : (short)-1;
        ratios[i] = heard && server >= 0 ? ratio : NAN;
% else:
        vstore8(power, 0, powers + i);
        vstore8(convert_short8(heard ? server : (int8)(-1)), 0, servers + i);
        vstore8((heard & (server >= 0)) ? ratio : (float8)NAN, 0, ratios + i);
% endif
    }
% endfor
    }
}
