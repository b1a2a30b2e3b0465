"""Diffraction by ITU-R P.526-15, as it prints the formulas: distances in km, heights in m above the sea, in floats."""

import math
from pathlib import Path


def knife_edge(nu):
    """Eq. (31)."""
    if nu <= -0.78:
        return 0.0
    return 6.9 + 20 * math.log10(math.sqrt((nu - 0.1) ** 2 + 1) + nu - 0.1)


def bullington(distances, heights, site, mobile, wavelength, radius_km):
    """4.5.1; the first and the last point are the ends, whose antennas are at the heights `site` and `mobile`."""
    d, curvature = distances[-1], 1 / radius_km
    inner = list(zip(distances[1:-1], heights[1:-1]))
    bulged = [(x, h + 500 * curvature * x * (d - x)) for x, h in inner]
    slope = (mobile - site) / d
    from_site = max(((h - site) / x for x, h in bulged), default=-math.inf)
    if from_site < slope:
        nus = [
            (h - (site * (d - x) + mobile * x) / d) * math.sqrt(0.002 * d / (wavelength * x * (d - x)))
            for x, h in bulged
        ]
        loss = knife_edge(max(nus, default=-math.inf))
    else:
        from_mobile = max((h - mobile) / (d - x) for x, h in bulged)
        edge = (mobile - site + from_mobile * d) / (from_site + from_mobile)
        over = site + from_site * edge - (site * (d - edge) + mobile * edge) / d
        loss = knife_edge(over * math.sqrt(0.002 * d / (wavelength * edge * (d - edge))))
    return loss + (1 - math.exp(-loss / 6)) * (10 + 0.02 * d)


def single(distances, heights, site, mobile, wavelength, radius_km):
    """4.1: the edge with the greatest loss."""
    d, losses = distances[-1], [0.0]
    for x, h in zip(distances[1:-1], heights[1:-1]):
        over = h + 500 * x * (d - x) / radius_km - (site * (d - x) + mobile * x) / d
        losses.append(knife_edge(over * math.sqrt(0.002 * d / (wavelength * x * (d - x)))))
    return max(losses)


def profile(ground, transform, site, cell):
    """Distances in km and heights of the ground where a ray crosses lines of centres; from a site to a cell's centre.

    `site` has the column and the row of the transmitter, `cell` those of the cell. The ends have the height 0.
    """
    a, b, _, d, e, _ = transform
    ends = (site[0] - 0.5, site[1] - 0.5), (float(cell[0]), float(cell[1]))
    right, down = ends[1][0] - ends[0][0], ends[1][1] - ends[0][1]
    axis = 0 if abs(right) >= abs(down) else 1
    metres = math.hypot(a * right + b * down, d * right + e * down)
    start, stop = ends[0][axis], ends[1][axis]
    found = []
    for line in range(math.ceil(min(start, stop)), math.floor(max(start, stop)) + 1):
        if line in (start, stop):
            continue
        share = (line - start) / (stop - start)
        side = ends[0][1 - axis] + share * (ends[1][1 - axis] - ends[0][1 - axis])
        most = ground.shape[axis] - 1
        side = min(max(side, 0), most)
        low = min(int(side), max(most - 1, 0))
        pair = [ground[low + k, line] if axis == 0 else ground[line, low + k] for k in (0, 1 if most else 0)]
        found.append((share * metres / 1000, float(pair[0]) + (side - low) * (float(pair[1]) - float(pair[0]))))
    found.sort()
    return [0.0, *(x for x, _ in found), metres / 1000], [0.0, *(h for _, h in found), 0.0]


# Validation data ---------------------------------------------------------------------------------------------------

#: ITU-R, "Validation examples for the delta Bullington diffraction prediction method": the earth's effective radius
#: is 8500 km, light has 3e8 m/s. Links: MHz, and the heights of both antennas above the ground in m.
RADIUS_KM = 8500.0
LINKS = ((1000, 30, 30), (2500, 50, 10), (600, 20, 20), (200, 40, 50), (150, 70, 5))
#: For each path the losses in dB of LINKS: Bullington's over the actual profile, and those of the complete method.
LOSSES = {
    1: (
        (32.84284766, 37.229036, 31.22595813, 24.87792613, 24.78223928),
        (34.44302652, 42.32928281, 36.34606901, 27.69744396, 42.99074274),
    ),
    2: (
        (36.20419305, 44.81240928, 34.43917939, 28.37368149, 34.61746032),
        (69.83036947, 90.68232743, 66.46062522, 46.38832061, 51.38547874),
    ),
    3: (
        (17.62040631, 25.1016907, 20.25488733, 10.1899085, 16.27593106),
        (17.62040631, 25.1016907, 20.25488733, 10.1899085, 20.73949248),
    ),
    4: (
        (7.8709851352, 0.0, 15.30876397, 6.526730443, 0.0),
        (7.870985135, 0.0, 15.30876397, 6.526730443, 0.0),
    ),
}


def itu_path(number):
    """Distances in km and heights of the ground in m of one of ITU-R's paths."""
    text = Path(__file__).with_name("itu_paths.txt").read_text(encoding="utf-8").split(f"path {number} ")[1]
    length, *words = text.split("path")[0].split()
    heights = list(map(float, words))
    return [*(0.05 * k for k in range(len(heights) - 1)), float(length)], heights


# 4.5.2, the complete method ---------------------------------------------------------------------------------------


def first_term(d, f, h1, h2, radius, permittivity, conductivity, vertical):
    """3.1.1: the first term of the residue series; d and radius in km, f in GHz, heights in m."""
    k = 0.036 * (radius * f) ** (-1 / 3) * ((permittivity - 1) ** 2 + (18 * conductivity / f) ** 2) ** -0.25
    if vertical:
        k *= math.sqrt(permittivity**2 + (18 * conductivity / f) ** 2)
    beta = (1 + 1.6 * k**2 + 0.67 * k**4) / (1 + 4.5 * k**2 + 1.53 * k**4)
    x = 21.88 * beta * (f / radius**2) ** (1 / 3) * d
    far = 11 + 10 * math.log10(x) - 17.6 * x if x >= 1.6 else -20 * math.log10(x) - 5.6488 * x**1.425
    total = -far
    for h in (h1, h2):
        b = beta * 0.9575 * beta * (f**2 / radius) ** (1 / 3) * h
        gain = 20 * math.log10(b + 0.1 * b**3) if b <= 2 else 17.6 * math.sqrt(b - 1.1) - 5 * math.log10(b - 1.1) - 8
        total -= max(gain, 2 + 20 * math.log10(k))
    return total


def smooth_earth(d, f, h1, h2, radius, permittivity, conductivity, vertical):
    """3.2: the loss over a spherical earth."""
    ground = permittivity, conductivity, vertical
    if d >= math.sqrt(2 * radius) * (math.sqrt(0.001 * h1) + math.sqrt(0.001 * h2)):
        return first_term(d, f, h1, h2, radius, *ground)
    c, m = (h1 - h2) / (h1 + h2), 250 * d**2 / (radius * (h1 + h2))
    angle = math.acos(3 * c / 2 * math.sqrt(3 * m / (m + 1) ** 3)) / 3
    b = 2 * math.sqrt((m + 1) / (3 * m)) * math.cos(math.pi / 3 + angle)
    one = d / 2 * (1 + b)
    two = d - one
    clear = ((h1 - 500 * one**2 / radius) * two + (h2 - 500 * two**2 / radius) * one) / d
    needed = 17.456 * math.sqrt(max(one * two, 0.0) * (0.3 / f) / d)  # rounding may be below 0
    if clear >= needed:
        return 0.0
    loss = first_term(d, f, h1, h2, 500 * (d / (math.sqrt(h1) + math.sqrt(h2))) ** 2, *ground)
    return max((1 - clear / needed) * loss, 0.0) if loss > 0 else 0.0


def complete(
    distances, heights, site, mobile, wavelength, radius_km, permittivity=22, conductivity=0.003, vertical=True
):
    """4.5.2; here the first and the last height are those of the ground under the antennas."""
    d, first, second = distances[-1], 0.0, 0.0
    for (x0, h0), (x1, h1) in zip(zip(distances, heights), zip(distances[1:], heights[1:])):
        first += (x1 - x0) * (h1 + h0)
        second += (x1 - x0) * (h1 * (2 * x1 + x0) + h0 * (x1 + 2 * x0))
    low, high = (2 * first * d - second) / d**2, (second - first * d) / d**2
    over = [(h - (site * (d - x) + mobile * x) / d, x) for x, h in zip(distances[1:-1], heights[1:-1])]
    most = max((h for h, _ in over), default=-1.0)
    if most > 0:
        at_site, at_mobile = max(h / x for h, x in over), max(h / (d - x) for h, x in over)
        low -= most * at_site / (at_site + at_mobile)
        high -= most * at_mobile / (at_site + at_mobile)
    one, two = site - min(low, heights[0]), mobile - min(high, heights[-1])
    flat = [0.0] * len(heights)
    rough = bullington(distances, heights, site, mobile, wavelength, radius_km)
    smooth = bullington(distances, flat, one, two, wavelength, radius_km)
    f = 0.3 / wavelength
    return rough + max(smooth_earth(d, f, one, two, radius_km, permittivity, conductivity, vertical) - smooth, 0)
