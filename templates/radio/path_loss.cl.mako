<%page args="model='walfisch_ikegami', real='float', fields=('distance',), ranges=(('distance', '0.02f', '5.0f'),), city='medium', outside='raise', variant='group', wg_size=256, items_per_thread=1"/>\
<%
    NAMES = {
        "free_space": ("distance", "frequency"),
        "two_ray": ("distance", "frequency", "base_height", "mobile_height"),
        "interference": ("distance", "frequency", "base_height", "mobile_height", "reflection"),
        "line_of_sight": ("distance", "frequency", "base_height", "mobile_height"),
        "walfisch_ikegami": ("distance", "frequency", "base_height", "mobile_height", "roof_height",
                             "street_width", "separation", "orientation", "line_of_sight"),
    }
    names = NAMES[model]
    def kind(name):
        return "uchar" if name == "line_of_sight" else real
    limits = {name: (low, high) for name, low, high in ranges}
    suffix = "f" if real == "float" else ""
    def c(number):
        return f"{float(number)!r}{suffix}"
    widths = [8 if real == "float" else 4, 1] if variant == "serial" else [1]
%>\
// path_loss: loss in dB of a radio link for every cell of a map, by one of the models of clgeom.radio.
//
//   distance       | cell 0 | cell 1 | ..       what varies from cell to cell is an array (a "field"),
//   orientation    | cell 0 | cell 1 | ..       everything else one number for the whole map
//   loss           | cell 0 | cell 1 | ..       group: a stride of items; serial: side by side, in vectors
//
// A cell is nothing but arithmetic and logarithms: reads each field once, writes one number. With outside="raise" a
// field's value beyond its range sets the field's bit in `poison`; "clip" takes the nearest value allowed, "nan" marks.
// Sources: COST 231 final report (1999), section 4.4.1 (Walfisch-Ikegami); Rappaport, "Wireless communications" (2002),
// sections 4.2 and 4.6 (free space, two rays).
#include "portable.h"
#define WG_SIZE ${wg_size}

% for width in widths:
<%
    T = real if width == 1 else f"{real}{width}"
    flag = "int" if width == 1 else f"{'int' if real == 'float' else 'long'}{width}"
    s = "" if width == 1 else f"_{width}"
    def number(value):
        return f"(({T}){c(value)})"
%>\
% if model == "free_space":
inline ${T} loss${s}(${T} distance, ${T} frequency)
{
    return ${number(32.447783221883370)} + ${number(20)} * (log10(distance) + log10(frequency));
}
% elif model == "two_ray":
// Free space up to where the plane earth's fourth power of the distance overtakes it.
inline ${T} loss${s}(${T} distance, ${T} frequency, ${T} base_height, ${T} mobile_height)
{
    const ${T} free_space = ${number(32.447783221883370)} + ${number(20)} * (log10(distance) + log10(frequency));
    const ${T} plane_earth = ${number(120)} + ${number(40)} * log10(distance)
        - ${number(20)} * (log10(base_height) + log10(mobile_height));
    return plane_earth > free_space ? plane_earth : free_space;
}
% elif model == "interference":
// The field of the direct ray and of the one reflected by the ground, added with their phases. The paths' difference
// comes from the heights' product, for the difference of two nearly equal roots would lose it.
inline ${T} loss${s}(${T} distance, ${T} frequency, ${T} base_height, ${T} mobile_height, ${T} reflection)
{
    const ${T} ground = distance * ${number(1000)}, down = base_height - mobile_height, up = base_height + mobile_height;
    const ${T} direct = sqrt(ground * ground + down * down), bounced = sqrt(ground * ground + up * up);
    const ${T} longer = ${number(4)} * base_height * mobile_height / (direct + bounced);
    const ${T} waves = longer * frequency * ${number(1 / 299.792458)};
    const ${T} turn = ${number(6.283185307179586)} * (waves - floor(waves));
    const ${T} share = reflection * direct / bounced;
    const ${T} power = ${number(1)} + share * share + ${number(2)} * share * cos(turn);
    return ${number(-27.552216778116630)} + ${number(20)} * (log10(direct) + log10(frequency)) - ${number(10)} * log10(power);
}
% elif model == "line_of_sight":
inline ${T} loss${s}(${T} distance, ${T} frequency, ${T} base_height, ${T} mobile_height)
{
    return ${number(42.6)} + ${number(26)} * log10(distance) + ${number(20)} * log10(frequency);
}
% else:
inline ${T} loss${s}(${T} distance, ${T} frequency, ${T} base_height, ${T} mobile_height, ${T} roof_height,
                     ${T} street_width, ${T} separation, ${T} orientation, ${flag} line_of_sight)
{
    const ${T} log_d = log10(distance), log_f = log10(frequency);
    const ${T} seen = ${number(42.6)} + ${number(26)} * log_d + ${number(20)} * log_f;
    // from the last roof down into the street, by the angle between the street and the ray
    const ${T} turned = orientation < ${number(35)} ? ${number(-10)} + ${number(0.354)} * orientation
        : orientation < ${number(55)} ? ${number(2.5)} + ${number(0.075)} * (orientation - ${number(35)})
        : ${number(4)} - ${number(0.114)} * (orientation - ${number(55)});
    const ${T} to_street = ${number(-16.9)} - ${number(10)} * log10(street_width) + ${number(10)} * log_f
        + ${number(20)} * log10(roof_height - mobile_height) + turned;
    // over the roofs before, by how far the antenna stands above or below them
    const ${T} above = base_height - roof_height;
    const ${flag} over = above > ${number(0)};
    const ${T} near = distance < ${number(0.5)} ? distance * ${number(2)} : ${number(1)};
    const ${T} screened = over ? ${number(-18)} * log10(${number(1)} + (over ? above : ${number(0)})) : ${number(0)};
    const ${T} k_a = over ? ${number(54)} : ${number(54)} - ${number(0.8)} * above * near;
    const ${T} k_d = over ? ${number(18)} : ${number(18)} - ${number(15)} * above / roof_height;
    const ${T} k_f = ${number(-4)} + ${number(1.5 if city == "metropolitan" else 0.7)} * (frequency * ${number(1 / 925)} - ${number(1)});
    const ${T} over_roofs = screened + k_a + k_d * log_d + k_f * log_f - ${number(9)} * log10(separation);
    const ${T} extra = to_street + over_roofs;
    const ${T} hidden = ${number(32.4)} + ${number(20)} * (log_d + log_f) + (extra > ${number(0)} ? extra : ${number(0)});
    return line_of_sight ? seen : hidden;
}
% endif

% endfor
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void path_loss(
% for name in names:
    ${f"global const {kind(name)} *{name}s" if name in fields else f"const {kind(name)} the_{name}"},
% endfor
    const ulong n, global ${real} *losses, global uint *poison)
{
% if variant == "serial":
    const ulong share = (n / ${widths[0]} + get_global_size(0) - 1) / get_global_size(0) * ${widths[0]};
    ulong i = min(get_global_id(0) * share, n);
    const ulong end = get_global_id(0) + 1 == get_global_size(0) ? n : min(i + share, n);
% else:
    ulong i = get_global_id(0);
    const ulong end = n;
% endif
    uint bad = 0;
% for width in widths:
<%
    T = real if width == 1 else f"{real}{width}"
    flag = "int" if width == 1 else f"{'int' if real == 'float' else 'long'}{width}"
    s = "" if width == 1 else f"_{width}"
    step = f"{width}" if variant == "serial" else "get_global_size(0)"
    checked = [name for name in names if name in fields and name in limits]
    def load(name):
        if name == "line_of_sight":
            if name not in fields:
                return f"(({flag})({'the_line_of_sight ? -1 : 0'}))"
            return f"({name}s[i] != 0)" if width == 1 else f"(convert_{flag}(vload{width}(0, {name}s + i)) != 0)"
        if name not in fields:
            return f"({T})the_{name}"
        return f"{name}s[i]" if width == 1 else f"vload{width}(0, {name}s + i)"
%>\
    {
% for name in checked:
        ${flag} fits_${name} = ${"1" if width == 1 else "-1"};
% endfor
        for (; i + ${width} <= end; i += ${step}) {
% for name in names:
            ${flag if name == "line_of_sight" else T} ${name} = ${load(name)};
% endfor
% for name in checked:
<% low, high = limits[name] %>\
% if outside == "clip":
            const ${flag} known_${name} = ${name} == ${name};   // where it is not, the loss is not: a comparison may hide that
            ${name} = ${name} < (${T})${low} ? (${T})${low} : ${name} > (${T})${high} ? (${T})${high} : ${name};
% else:
            const ${flag} good_${name} = (${name} >= (${T})${low}) & (${name} <= (${T})${high});
            fits_${name} &= good_${name};
% endif
% endfor
            ${T} result = loss${s}(${", ".join(names)});
% if outside != "raise":
% for name in checked:
            result = ${"known" if outside == "clip" else "good"}_${name} ? result : (${T})NAN;
% endfor
% endif
% if width == 1:
            losses[i] = result;
% else:
            vstore${width}(result, 0, losses + i);
% endif
        }
% if outside == "raise":
% for k, name in enumerate(names):
% if name in checked:
% if width == 1:
        bad |= fits_${name} ? 0u : ${1 << k}u;
% else:
        bad |= (${" & ".join(f"fits_{name}.s{lane}" for lane in range(width))}) ? 0u : ${1 << k}u;
% endif
% endif
% endfor
% endif
    }
% endfor
    if (bad)
        atomic_or(poison, bad);
}
