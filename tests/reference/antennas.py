"""Received power of transmitters with antennas, cell by cell, in Python floats, as the sources print the formulas."""

import math

import reference.radio as models


def parabolic(antenna, azimuth, elevation):
    """TR 36.942 and TR 38.901, table 7.3-1; angles in degrees."""
    across = along = 0.0
    if antenna.horizontal_beamwidth_deg:
        across = min(12 * (azimuth / antenna.horizontal_beamwidth_deg) ** 2, antenna.front_to_back_db)
    if antenna.vertical_beamwidth_deg:
        along = 12 * ((elevation + antenna.downtilt_deg) / antenna.vertical_beamwidth_deg) ** 2
        along = min(along, antenna.side_lobe_db)
    return min(across + along, antenna.front_to_back_db) if antenna.horizontal_beamwidth_deg else along


def at_degrees(cut, angle):
    angle %= 360
    low = int(angle) % 360
    part = angle - int(angle)
    return (1 - part) * float(cut[low]) + part * float(cut[(low + 1) % 360])


def measured(antenna, azimuth, elevation):
    """Gil et al. (2001): the horizontal cut, and the vertical cut in front and behind by the share of the azimuth."""
    share, down = abs(azimuth) / 180, -(elevation + antenna.downtilt_deg)
    front = at_degrees(antenna.vertical, down) - float(antenna.horizontal[0])
    behind = at_degrees(antenna.vertical, 180 - down) - float(antenna.horizontal[180])
    return max(at_degrees(antenna.horizontal, azimuth) + (1 - share) * front + share * behind, 0)


def direction(one, x, y, z):
    """Azimuth and elevation of a cell in the frame of a transmitter's antenna, by two turns."""
    turn, down = math.radians(one.azimuth_deg), math.radians(one.downtilt_deg)
    right, ahead = x * math.cos(turn) - y * math.sin(turn), x * math.sin(turn) + y * math.cos(turn)
    forward, up = ahead * math.cos(down) - z * math.sin(down), ahead * math.sin(down) + z * math.cos(down)
    azimuth = math.degrees(math.atan2(right, forward))
    return azimuth, math.degrees(math.atan2(up, math.hypot(forward, right)))


#: Least distance of each model in km.
NEAREST = {"wim": 0.02, "okumura-hata": 1, "cost231-hata": 1, "uma": 0.01, "umi": 0.01, "rma": 0.01}


def loss(model, one, mobile, x, y, z, around):
    """By the models of reference.radio; a cell is at least 1 m from the transmitter."""
    km, f = max(math.hypot(x, y) / 1000, 0.001), one.frequency_mhz
    base, name, seen = one.height_m, model.removesuffix("-los"), model.endswith("-los")
    if model in ("free-space", "two-ray"):
        km = math.hypot(km, z / 1000)  # between the antennas
        return models.free_space(km, f) if model == "free-space" else models.two_ray(km, f, base, mobile)
    apart = abs(math.degrees(math.atan2(x, y)) - around["street"]) % 180
    turn = min(apart, 180 - apart)
    streets = [around[key] for key in ("roof_height", "street_width", "separation")]
    formulas = {
        "okumura-hata": lambda d: models.okumura_hata(d, f, base, mobile, around["city"], around["area"]),
        "cost231-hata": lambda d: models.cost231_hata(d, f, base, mobile, around["city"]),
        "uma": lambda d: models.urban_cell(d, f, base, mobile, seen, "macro"),
        "umi": lambda d: models.urban_cell(d, f, base, mobile, seen, "micro"),
        "rma": lambda d: models.rural_macro(d, f, base, mobile, *streets[:2], seen),
        "wim": lambda d: models.walfisch_ikegami(d, f, base, mobile, *streets, turn, seen, around["city"]),
    }
    return models.continued(formulas[name], km, NEAREST[name], f, z)


def powers(transmitters, shape, transform, model, mobile, around, extra=None):
    """Received power in dBm, as nested lists [transmitter][row][column]."""
    a, b, c, d, e, f = transform
    found = []
    for number, one in enumerate(transmitters):
        rows = []
        for row in range(shape[0]):
            line = []
            for column in range(shape[1]):
                x = a * (column + 0.5) + b * (row + 0.5) + c - one.x
                y = d * (column + 0.5) + e * (row + 0.5) + f - one.y
                z = mobile - one.height_m
                if one.range_m is not None and math.hypot(x, y) > one.range_m:
                    line.append(math.nan)
                    continue
                pattern = parabolic if one.antenna.horizontal is None else measured
                power = one.power_dbm - one.loss_db + one.antenna.gain_dbi
                power -= pattern(one.antenna, *direction(one, x, y, z)) + float(
                    loss(model, one, mobile, x, y, z, around)
                )
                line.append(power - (0 if extra is None else float(extra[number][row][column])))
            rows.append(line)
        found.append(rows)
    return found
