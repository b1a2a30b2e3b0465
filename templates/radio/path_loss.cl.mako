<%page args="model='walfisch_ikegami', real='float', fields=('distance',), ranges=(('distance', '0.02f', '5.0f'),), city='medium', area='urban', outside='raise', near='', variant='group', wg_size=256, items_per_thread=1"/>\
<%
    NAMES = {
        "free_space": ("distance", "frequency"),
        "two_ray": ("distance", "frequency", "base_height", "mobile_height"),
        "interference": ("distance", "frequency", "base_height", "mobile_height", "reflection"),
        "line_of_sight": ("distance", "frequency", "base_height", "mobile_height"),
        "walfisch_ikegami": ("distance", "frequency", "base_height", "mobile_height", "roof_height",
                             "street_width", "separation", "orientation", "line_of_sight"),
        "okumura_hata": ("distance", "frequency", "base_height", "mobile_height"),
        "cost231_hata": ("distance", "frequency", "base_height", "mobile_height"),
        "urban_macro": ("distance", "frequency", "base_height", "mobile_height", "line_of_sight"),
        "urban_micro": ("distance", "frequency", "base_height", "mobile_height", "line_of_sight"),
        "rural_macro": ("distance", "frequency", "base_height", "mobile_height", "roof_height", "street_width",
                        "line_of_sight"),
    }
    names = NAMES[model]
    def kind(name):
        return "uchar" if name == "line_of_sight" else real
    limits = {name: (low, high) for name, low, high in ranges}
    widths = [8 if real == "float" else 4, 1] if variant == "serial" else [1]
    # (type of numbers, of what comparisons of them give, suffix of names) by width
    kinds = {
        width: (f"{real}{width}", f"{'int' if real == 'float' else 'long'}{width}", f"_{width}") if width > 1
        else (real, "int", "")
        for width in widths
    }
    def load(name, width):
        T, flag, _ = kinds[width]
        if name == "line_of_sight":
            if name not in fields:
                return f"(({flag})({'the_line_of_sight ? -1 : 0'}))"
            return f"({name}s[i] != 0)" if width == 1 else f"(convert_{flag}(vload{width}(0, {name}s + i)) != 0)"
        if name not in fields:
            return f"({T})the_{name}"
        return f"{name}s[i]" if width == 1 else f"vload{width}(0, {name}s + i)"
%>\
// path_loss: loss in dB of a radio link for every cell of a map, by one of the models of clgeom.radio.
//
//   distance       | cell 0 | cell 1 | ..       a parameter that varies from cell to cell is an array (a "field"),
//   orientation    | cell 0 | cell 1 | ..       every other parameter one number for the whole map
//   loss           | cell 0 | cell 1 | ..       group: a stride of items; serial: side by side, in vectors
//
// A cell takes arithmetic and logarithms only: it reads each field once, and writes one number. A field's value beyond its
// range sets the field's bit in `poison` with outside="raise"; "clip" takes the nearest value allowed, "nan" writes NaN.
// Nearer than `near`, the least distance of the model, a second loop continues the loss into free space, and sets bit 31.
// The models and their sources are in radio/models.h.
#define CLGEOM_SERIAL ${int(variant == "serial")}
#define HAS_NEAR ${int(bool(near))}
#include "portable.h"
#define WG_SIZE ${wg_size}

#define NUMBERS_ARE_FLOAT ${int(real == "float")}
#define CITY_SLOPE ${1.5 if city == "metropolitan" else 0.7}
#define METROPOLITAN ${int(city == "metropolitan")}
#define AREA_${area.upper()}
#include "radio/models.h"
% if model == "rural_macro":
#include "radio/rural.h"
% endif
% for T, flag, s in kinds.values():
LOSS_${model}(loss${s}, ${T}, ${flag})
% endfor

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void path_loss(
% for name in names:
    ${f"global const {kind(name)} *{name}s" if name in fields else f"const {kind(name)} the_{name}"},
% endfor
    const ulong n, global ${real} *losses, global uint *poison)
{
#if CLGEOM_SERIAL
    const ulong share = (n / ${widths[0]} + get_global_size(0) - 1) / get_global_size(0) * ${widths[0]};
    ulong i = min(get_global_id(0) * share, n);
    const ulong end = get_global_id(0) + 1 == get_global_size(0) ? n : min(i + share, n);
#else
    ulong i = get_global_id(0);
    const ulong end = n;
#endif
    uint bad = 0;
#if HAS_NEAR
    const ulong first = i;
    bool has_near = false;
#endif
% for width in widths:
<%
    T, flag, s = kinds[width]
    step = f"{width}" if variant == "serial" else "get_global_size(0)"
    checked = [name for name in names if name in fields and name in limits]
%>\
    {
% for name in checked:
        ${flag} fits_${name} = ${"1" if width == 1 else "-1"};
% endfor
% if near:
        ${flag} nearer = 0;
% endif
        for (; i + ${width} <= end; i += ${step}) {
% for name in names:
            ${flag if name == "line_of_sight" else T} ${name} = ${load(name, width)};
% endfor
% for name in checked:
<% low, high = limits[name] %>\
% if outside == "clip":
            // NaN stays NaN: the comparisons below would hide it
            const ${flag} known_${name} = ${name} == ${name};
            ${name} = ${name} < (${T})${low} ? (${T})${low} : ${name} > (${T})${high} ? (${T})${high} : ${name};
% else:
            const ${flag} good_${name} = (${name} >= (${T})${low}) & (${name} <= (${T})${high});
            fits_${name} &= good_${name};
% endif
% endfor
% if near:
            nearer |= distance < (${T})${near};
% endif
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
% if near:
        has_near |= ${"nearer" if width == 1 else "any(nearer)"};
% endif
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
#if HAS_NEAR
    // Into free space; where the formula is below it at the end of the range, with half its slope until they meet.
    for (i = first; has_near && i < end; i += ${"1" if variant == "serial" else "get_global_size(0)"}) {
% for name in names:
        const ${"int" if name == "line_of_sight" else real} ${name} = ${load(name, 1)};
% endfor
        if (!(distance < ${near} && distance >= 0))
            continue;
        const ${real} here = fmax(distance, NUM(${real}, 0.001)), range = ${near}, down = base_height - mobile_height;
        const ${real} free = FREE_SPACE(${real}, here, frequency, down);
        const ${real} lacking = FREE_SPACE(${real}, range, frequency, down) - loss(${", ".join(["range", *names[1:]])});
        const ${real} below = lacking - NUM(${real}, 0.5) * (FREE_SPACE(${real}, range, frequency, down) - free);
        const ${real} formula = loss(${", ".join(["here", *names[1:]])}), least = free - (below > 0 ? below : 0);
        losses[i] = least > formula ? least : formula;
        bad |= 1u << 31;
    }
#endif
    if (bad)
        atomic_or(poison, bad);
}
