"""Models of path loss: their ranges, what they need beside the link, and their lines for the kernel of `best_server`.

Most models are the greatest of straight lines in the logarithm of the distance: a loss of ``a + b log10(d)`` dB, d in
m, for each line. A kernel then needs one logarithm for each cell and transmitter, whatever the model.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

CITIES = ("medium", "metropolitan")
AREAS = ("urban", "suburban", "open")
#: The lowest and the highest value of each parameter, and the unit.
Ranges = dict[str, tuple[float, float, str]]
#: The report limits the first four; the other limits keep logarithms finite.
WALFISCH_IKEGAMI: Ranges = {
    "distance": (0.02, 5.0, "km"),
    "frequency": (800.0, 2000.0, "MHz"),
    "base_height": (4.0, 50.0, "m"),
    "mobile_height": (1.0, 3.0, "m"),
    "roof_height": (3.5, 200.0, "m"),
    "street_width": (1.0, 500.0, "m"),
    "separation": (1.0, 1000.0, "m"),
    "orientation": (0.0, 90.0, "degrees"),
}
#: Frequencies of radio waves, and distances and heights on or near the earth.
PHYSICAL: Ranges = {
    "distance": (1e-3, 1e5, "km"),
    "frequency": (1.0, 3e5, "MHz"),
    "base_height": (0.1, 1e4, "m"),
    "mobile_height": (0.1, 1e4, "m"),
    "reflection": (-1.0, 1.0, ""),
}
OKUMURA_HATA: Ranges = {
    "distance": (1.0, 20.0, "km"),
    "frequency": (150.0, 1500.0, "MHz"),
    "base_height": (30.0, 200.0, "m"),
    "mobile_height": (1.0, 10.0, "m"),
}
COST231_HATA: Ranges = {**OKUMURA_HATA, "frequency": (1500.0, 2000.0, "MHz")}
#: The report draws a parameter of the breakpoint at random for mobile stations of 13 m or more in macro cells.
URBAN_MACRO: Ranges = {
    "distance": (0.01, 5.0, "km"),
    "frequency": (500.0, 100_000.0, "MHz"),
    "base_height": (25.0, 25.0, "m"),
    "mobile_height": (1.5, 13.0, "m"),
}
URBAN_MICRO: Ranges = {**URBAN_MACRO, "base_height": (10.0, 10.0, "m"), "mobile_height": (1.5, 22.5, "m")}
#: With line of sight; without it the report ends at 5 km.
RURAL_MACRO_SEEN: Ranges = {
    "distance": (0.01, 10.0, "km"),
    "frequency": (500.0, 30_000.0, "MHz"),
    "base_height": (10.0, 150.0, "m"),
    "mobile_height": (1.0, 10.0, "m"),
    "roof_height": (5.0, 50.0, "m"),
    "street_width": (5.0, 50.0, "m"),
}
RURAL_MACRO: Ranges = {**RURAL_MACRO_SEEN, "distance": (0.01, 5.0, "km")}

#: The lines (a, b) of a model.
Lines = list[tuple[float, float]]
#: A line that is nowhere the greatest.
NO_LINE = (-1e6, 0.0)
#: Loss in free space over 1 m at 1 MHz in dB.
FREE_SPACE = 32.44778322188337 - 60
#: Urban cells: in sight the loss at 1 m and 1 GHz, its slope, and the change behind the breakpoint; then without line
#: of sight the loss, by decades of the frequency, by metres of the mobile station's height, and its slope.
MACRO = (28.0, 22.0, 9.0, 13.54, 20.0, 0.6, 39.08)
MICRO = (32.4, 21.0, 9.5, 22.4, 21.3, 0.3, 35.3)
#: What models need beside the link, and the default of `best_server`; `Model.usual` has others.
SURROUNDINGS = {
    "roof_height": 12.0,
    "street_width": 25.0,
    "separation": 50.0,
    "street": 30.0,
    "city": "medium",
    "area": "urban",
}
ModelName = Literal[
    "wim", "wim-los", "free-space", "two-ray", "okumura-hata", "cost231-hata", "uma", "uma-los", "umi", "umi-los",
    "rma", "rma-los",
]  # fmt: skip


def loss_fields(name: str, frequency: float, base: float, mobile: float, around: dict[str, Any]) -> dict[str, float]:
    """Return the fields of a model for one transmitter: lines by log2 of the square of the distance in m, the range in
    m2.
    """
    model, log_f = MODELS[name], math.log10(frequency)
    fields = {"free": FREE_SPACE + 20 * log_f, "nearest": (model.ranges["distance"][0] * 1000) ** 2}
    fields["rise_counts"] = float(model.in_space)
    if name == "wim":
        fields["near_slope"] = max(0.8 * (around["roof_height"] - base), 0.0)
        fields["street"] = math.radians(around["street"])
    for k, (a, b) in enumerate((*model.lines(log_f, base, mobile, around), NO_LINE, NO_LINE)[:3]):
        fields |= {f"a{k}": a, f"b{k}": b * math.log10(2) / 2}
    return fields if model.bend is None else fields | model.bend(log_f, base, mobile, around)


def _free_space(log_f: float, base: float, mobile: float, around: dict[str, Any]) -> Lines:
    return [(FREE_SPACE + 20 * log_f, 20.0)]


def _two_ray(log_f: float, base: float, mobile: float, around: dict[str, Any]) -> Lines:
    plane = -20 * (math.log10(base) + math.log10(mobile))
    return [(FREE_SPACE + 20 * log_f, 20.0), (plane, 40.0)]


def _okumura_hata(log_f: float, base: float, mobile: float, around: dict[str, Any]) -> Lines:
    if around["city"] == "metropolitan":
        gain = 8.29 * math.log10(1.54 * mobile) ** 2 - 1.1
        if log_f >= math.log10(300):
            gain = 3.2 * math.log10(11.75 * mobile) ** 2 - 4.97
    else:
        gain = _medium_city(log_f, mobile)
    loss = 69.55 + 26.16 * log_f - 13.82 * math.log10(base) - gain
    if around["area"] == "suburban":
        loss -= 2 * (log_f - math.log10(28)) ** 2 + 5.4
    elif around["area"] == "open":
        loss += -4.78 * log_f**2 + 18.33 * log_f - 40.94
    return _by_km(loss, 44.9 - 6.55 * math.log10(base))


def _cost231_hata(log_f: float, base: float, mobile: float, around: dict[str, Any]) -> Lines:
    loss = 46.3 + 33.9 * log_f - 13.82 * math.log10(base) - _medium_city(log_f, mobile)
    loss += 3 * (around["city"] == "metropolitan")
    return _by_km(loss, 44.9 - 6.55 * math.log10(base))


def _medium_city(log_f: float, mobile: float) -> float:
    return (1.1 * log_f - 0.7) * mobile - (1.56 * log_f - 0.8)


def _by_km(loss: float, slope: float) -> Lines:
    """Return a line whose loss is given at 1 km."""
    return [(loss - 3 * slope, slope)]


def _urban(coefficients: tuple[float, ...], hidden: bool, log_f: float, base: float, mobile: float, _: Any) -> Lines:
    """Lines in space before and behind the breakpoint, and without line of sight (3GPP TR 38.901, table 7.4.1-1)."""
    first, slope, share, *without_sight = coefficients
    start = first + 20 * (log_f - 3)
    turn = 4 * (base - 1) * (mobile - 1) * 10 ** (log_f + 6) / 3e8
    lines = [(start, slope), (start - share * math.log10(turn**2 + (base - mobile) ** 2), 40.0)]
    if hidden:
        loss, by_frequency, by_height, slope = without_sight
        lines.append((loss + by_frequency * (log_f - 3) - by_height * (mobile - 1.5), slope))
    return lines


def _rural(hidden: bool, log_f: float, base: float, mobile: float, around: dict[str, Any]) -> Lines:
    """Lines before and behind the breakpoint, the first without its `linear` part, and without line of sight (3GPP TR
    38.901, table 7.4.1-1).
    """
    height, bend = around["roof_height"], _rural_bend(log_f, base, mobile, around)
    slope, turn = 20 + min(0.03 * height**1.72, 10), math.sqrt(bend["bend"])
    start = 20 * math.log10(40 * math.pi / 3) + 20 * (log_f - 3) - min(0.044 * height**1.72, 14.77)
    at_turn = start + slope * math.log10(turn) + bend["linear"] * turn
    lines = [(start, slope), (at_turn - 40 * math.log10(turn), 40.0)]
    if hidden:
        loss = 161.04 - 7.1 * math.log10(around["street_width"]) + 7.5 * math.log10(height) + 20 * (log_f - 3)
        loss -= (24.37 - 3.7 * (height / base) ** 2) * math.log10(base) + 3.2 * math.log10(11.75 * mobile) ** 2 - 4.97
        lines += _by_km(loss, 43.42 - 3.1 * math.log10(base))
    return lines


def _rural_bend(log_f: float, base: float, mobile: float, around: dict[str, Any]) -> dict[str, float]:
    """Return the loss of each metre of the first line, and the square of the breakpoint's distance in m2."""
    turn = 2 * math.pi * base * mobile * 10 ** (log_f + 6) / 3e8
    return {"linear": 0.002 * math.log10(around["roof_height"]), "bend": turn**2}


def _canyon(log_f: float, base: float, mobile: float, around: dict[str, Any]) -> Lines:
    return _by_km(42.6 + 20 * log_f, 26.0)


def _over_roofs(log_f: float, base: float, mobile: float, around: dict[str, Any]) -> Lines:
    roof, above = around["roof_height"], base - around["roof_height"]
    to_street = -16.9 - 10 * math.log10(around["street_width"]) + 10 * log_f + 20 * math.log10(roof - mobile)
    over = above > 0
    k_d = 18.0 if over else 18 - 15 * above / roof
    k_f = -4 + (1.5 if around["city"] == "metropolitan" else 0.7) * (10**log_f / 925 - 1)
    over_roofs = (-18 * math.log10(1 + above) if over else 0) + 54 + k_f * log_f - 9 * math.log10(around["separation"])
    free = 32.4 + 20 * log_f
    return [(free - 60, 20.0), (free + to_street + over_roofs - 3 * (20 + k_d), 20 + k_d)]


@dataclass(frozen=True)
class Model:
    """A model of `coverage_map` and `best_server`."""

    kernel: str  #: name in the kernel of path loss
    ranges: Ranges
    #: ``lines(log10 of the frequency in MHz, height of the base station, that of the mobile station, surroundings)``
    lines: Callable[[float, float, float, dict[str, Any]], Lines]
    count: int = 1  #: of lines whose greatest is the loss
    surroundings: tuple[str, ...] = ()  #: those that the model knows
    in_space: bool = False  #: whether distances are those in space between the antennas
    base_height: float = 25.0  #: default in m
    frequency: float = 1800.0  #: default in MHz
    #: ``bend(as for lines)`` of a model whose first line ends where the second begins: the fields `BENT`
    bend: Callable[[float, float, float, dict[str, Any]], dict[str, float]] | None = None
    usual: dict[str, float] = field(default_factory=dict)  #: defaults of its surroundings that others do not have


STREETS = ("roof_height", "street_width", "separation", "street")
RURAL: dict[str, Any] = {
    **{"in_space": True, "base_height": 35.0, "bend": _rural_bend},
    "usual": {"roof_height": 5.0, "street_width": 20.0},
}
MODELS = {
    "wim": Model("walfisch_ikegami", WALFISCH_IKEGAMI, _over_roofs, surroundings=(*STREETS, "city")),
    "wim-los": Model("line_of_sight", WALFISCH_IKEGAMI, _canyon),
    "free-space": Model("free_space", PHYSICAL, _free_space, in_space=True),
    "two-ray": Model("two_ray", PHYSICAL, _two_ray, 2, in_space=True),
    "okumura-hata": Model("okumura_hata", OKUMURA_HATA, _okumura_hata, 1, ("city", "area"), False, 30.0, 900.0),
    "cost231-hata": Model("cost231_hata", COST231_HATA, _cost231_hata, 1, ("city",), False, 30.0),
    "uma": Model("urban_macro", URBAN_MACRO, partial(_urban, MACRO, True), 3, in_space=True),
    "uma-los": Model("urban_macro", URBAN_MACRO, partial(_urban, MACRO, False), 2, in_space=True),
    "umi": Model("urban_micro", URBAN_MICRO, partial(_urban, MICRO, True), 3, in_space=True, base_height=10.0),
    "umi-los": Model("urban_micro", URBAN_MICRO, partial(_urban, MICRO, False), 2, in_space=True, base_height=10.0),
    "rma": Model("rural_macro", RURAL_MACRO, partial(_rural, True), 3, STREETS[:2], **RURAL),
    "rma-los": Model("rural_macro", RURAL_MACRO_SEEN, partial(_rural, False), 2, STREETS[:1], **RURAL),
}
