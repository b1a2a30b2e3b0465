"""Path loss in long doubles, one cell after the other and as the sources print the formulas."""

import math

import numpy as np

L = np.longdouble


def log10(value):
    return np.log10(L(value))


def free_space(d, f):
    """d in km, f in MHz."""
    return 20 * log10(4 * L(math.pi) * L(d) * 1000 * L(f) * 1_000_000 / 299_792_458)


def continued(formula, d, low, f, down):
    """The loss `formula(d)`, and nearer than `low` km what continues it into free space; `down` m between heights.

    Nearer it is the greater of the formula and of free space between the antennas. Where the formula is below free
    space at `low` already, the loss falls by half of what free space does until they meet. No cell is nearer than 1 m.
    """
    if d >= low:
        return formula(d)

    def free(km):
        return free_space(np.sqrt(L(km) ** 2 + (L(down) / 1000) ** 2), f)

    d, at_low = max(d, 0.001), formula(low)
    if at_low >= free(low):
        return max(formula(d), free(d))
    return max(formula(d), min(free(d), at_low - (free(low) - free(d)) / 2))


def two_ray(d, f, base, mobile):
    plane = 40 * log10(L(d) * 1000) - 20 * log10(L(base) * L(mobile))
    return max(plane, free_space(d, f))


def interference_power(d, f, base, mobile, reflection):
    """Power relative to that of the direct ray alone."""
    d, wave = L(d) * 1000, L("299.792458") / L(f)
    direct, bounced = np.sqrt(d**2 + (L(base) - L(mobile)) ** 2), np.sqrt(d**2 + (L(base) + L(mobile)) ** 2)
    turn = 2 * L("3.14159265358979323846264338") * (bounced - direct) / wave
    share = L(reflection) * direct / bounced
    return (1 + share * np.cos(turn)) ** 2 + (share * np.sin(turn)) ** 2, direct


def walfisch_ikegami(d, f, hb, hm, hr, w, b, phi, los, city):
    d, f, hb, hm, hr, w, b, phi = map(L, (d, f, hb, hm, hr, w, b, phi))
    if los:
        return L("42.6") + 26 * log10(d) + 20 * log10(f)
    if phi < 35:
        ori = -10 + L("0.354") * phi
    elif phi < 55:
        ori = L("2.5") + L("0.075") * (phi - 35)
    else:
        ori = 4 - L("0.114") * (phi - 55)
    rts = L("-16.9") - 10 * log10(w) + 10 * log10(f) + 20 * log10(hr - hm) + ori
    delta = hb - hr
    bsh = -18 * log10(1 + delta) if hb > hr else 0
    ka = 54 if hb > hr else 54 - L("0.8") * delta if d >= 0.5 else 54 - L("0.8") * delta * d / L("0.5")
    kd = 18 if hb > hr else 18 - 15 * delta / hr
    kf = -4 + (L("1.5") if city == "metropolitan" else L("0.7")) * (f / 925 - 1)
    msd = bsh + ka + kd * log10(d) + kf * log10(f) - 9 * log10(b)
    free = L("32.4") + 20 * log10(d) + 20 * log10(f)
    return free + rts + msd if rts + msd > 0 else free


def urban_micro(metres, f):
    """3GPP TR 25.996, 5.2, spatial channel model, urban micro without line of sight (base 12.5 m, roofs 12 m)."""
    return L("-55.9") + 38 * log10(metres) + (L("24.5") + L("1.5") * L(f) / 925) * log10(f)


def urban_micro_los(metres, f):
    return L("-35.4") + 26 * log10(metres) + 20 * log10(f)


def okumura_hata(d, f, hb, hm, city, area):
    """As ITU-R P.529 and Hata print it."""
    d, f, hb, hm = map(L, (d, f, hb, hm))
    if city == "medium":
        a = (L("1.1") * log10(f) - L("0.7")) * hm - (L("1.56") * log10(f) - L("0.8"))
    elif f < 300:
        a = L("8.29") * log10(L("1.54") * hm) ** 2 - L("1.1")
    else:
        a = L("3.2") * log10(L("11.75") * hm) ** 2 - L("4.97")
    urban = L("69.55") + L("26.16") * log10(f) - L("13.82") * log10(hb) - a
    urban += (L("44.9") - L("6.55") * log10(hb)) * log10(d)
    if area == "suburban":
        return urban - 2 * log10(f / 28) ** 2 - L("5.4")
    if area == "open":
        return urban - L("4.78") * log10(f) ** 2 + L("18.33") * log10(f) - L("40.94")
    return urban


def cost231_hata(d, f, hb, hm, city):
    d, f, hb, hm = map(L, (d, f, hb, hm))
    a = (L("1.1") * log10(f) - L("0.7")) * hm - (L("1.56") * log10(f) - L("0.8"))
    loss = L("46.3") + L("33.9") * log10(f) - L("13.82") * log10(hb) - a
    return loss + (L("44.9") - L("6.55") * log10(hb)) * log10(d) + (3 if city == "metropolitan" else 0)


def urban_cell(d, f, hb, hm, los, kind):
    """TR 38.901, table 7.4.1-1: distances in m, frequency in GHz, breakpoint in Hz; kind "macro" or "micro"."""
    d2, fc, hb, hm = L(d) * 1000, L(f) / 1000, L(hb), L(hm)
    d3 = np.sqrt(d2**2 + (hb - hm) ** 2)
    breakpoint = 4 * (hb - 1) * (hm - 1) * fc * 1_000_000_000 / 300_000_000
    first, slope, share = (28, 22, 9) if kind == "macro" else (L("32.4"), 21, L("9.5"))
    seen = first + slope * log10(d3) + 20 * log10(fc)
    if d2 > breakpoint:
        seen = first + 40 * log10(d3) + 20 * log10(fc) - share * log10(breakpoint**2 + (hb - hm) ** 2)
    if los:
        return seen
    if kind == "macro":
        return max(seen, L("13.54") + L("39.08") * log10(d3) + 20 * log10(fc) - L("0.6") * (hm - L("1.5")))
    return max(seen, L("35.3") * log10(d3) + L("22.4") + L("21.3") * log10(fc) - L("0.3") * (hm - L("1.5")))


def rural_macro(d, f, hb, hm, h, w, los):
    """TR 38.901, table 7.4.1-1, RMa: distances in m, frequency in GHz, breakpoint in Hz."""
    d2, fc, hb, hm, h, w = L(d) * 1000, L(f) / 1000, L(hb), L(hm), L(h), L(w)
    d3 = np.sqrt(d2**2 + (hb - hm) ** 2)
    breakpoint = 2 * L("3.14159265358979323846264338") * hb * hm * fc * 1_000_000_000 / 300_000_000

    def first(x):
        grown = h ** L("1.72")
        free = 20 * log10(40 * L("3.14159265358979323846264338") * x * fc / 3)
        return (
            free
            + min(L("0.03") * grown, 10) * log10(x)
            - min(L("0.044") * grown, L("14.77"))
            + L("0.002") * log10(h) * x
        )

    seen = first(d3) if d2 <= breakpoint else first(breakpoint) + 40 * log10(d3 / breakpoint)
    if los:
        return seen
    hidden = L("161.04") - L("7.1") * log10(w) + L("7.5") * log10(h)
    hidden -= (L("24.37") - L("3.7") * (h / hb) ** 2) * log10(hb)
    hidden += (L("43.42") - L("3.1") * log10(hb)) * (log10(d3) - 3) + 20 * log10(fc)
    hidden -= L("3.2") * log10(L("11.75") * hm) ** 2 - L("4.97")
    return max(seen, hidden)


def suburban_macro(metres):
    """3GPP TR 25.996, 5.2: 1900 MHz, 32 m, 1.5 m."""
    return L("31.5") + 35 * log10(metres)
