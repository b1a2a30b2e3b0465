"""Transmitters, and what the kernel of `best_server` reads of each: a row of numbers, computed once on the host.

Most models are the greatest of straight lines in the logarithm of the distance: a loss of ``a + b log10(d)`` dB, d in
m, for each line. A kernel then needs one logarithm for each cell and transmitter, whatever the model.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from clgeom.arguments import number, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InputWarning, InvalidInput, short, warn
from clgeom.intake.typing import NDArray
from clgeom.radio.antennas import Antenna, warn_unused
from clgeom.radio.path_loss import PHYSICAL, WALFISCH_IKEGAMI
from clgeom.radio.urban import COST231_HATA, OKUMURA_HATA, URBAN_MACRO, URBAN_MICRO

#: The fields of a row, in the order of templates/radio/best_server.cl.mako.
FIELDS = (
    *("column", "column_part", "row", "row_part", "rise"),
    *("forward_x", "forward_y", "forward_z", "right_x", "right_y", "up_x", "up_y", "up_z"),
    *("eirp", "rise_counts", "free", "nearest", "farthest"),
    *("a0", "b0", "a1", "b1", "a2", "b2", "near_slope", "street"),
    *("table", "across", "across_most", "along", "along_most", "both_most", "downtilt"),
)
#: Lines (a, b) of a model, and further fields of a row.
Lines = tuple[list[tuple[float, float]], dict[str, float]]
#: A line that is nowhere the greatest.
NO_LINE = (-1e6, 0.0)
#: Loss in free space over 1 m at 1 MHz in dB.
FREE_SPACE = 32.44778322188337 - 60
ModelName = Literal[
    "wim",
    "wim-los",
    "free-space",
    "two-ray",
    "okumura-hata",
    "cost231-hata",
    "uma",
    "uma-los",
    "umi",
    "umi-los",
]
RANGES = {
    "wim": WALFISCH_IKEGAMI,
    "wim-los": WALFISCH_IKEGAMI,
    "free-space": PHYSICAL,
    "two-ray": PHYSICAL,
    "okumura-hata": OKUMURA_HATA,
    "cost231-hata": COST231_HATA,
    "uma": URBAN_MACRO,
    "uma-los": URBAN_MACRO,
    "umi": URBAN_MICRO,
    "umi-los": URBAN_MICRO,
}
#: Default height of the base station in m and frequency in MHz, where a model has others than 25 and 1800.
BASE_HEIGHTS = {"okumura-hata": 30.0, "cost231-hata": 30.0, "umi": 10.0, "umi-los": 10.0}
FREQUENCIES = {"okumura-hata": 900.0}
#: What a model needs beside the link, and its default.
SURROUNDINGS = {
    "roof_height": 12.0,
    "street_width": 25.0,
    "separation": 50.0,
    "street": 30.0,
    "city": "medium",
    "area": "urban",
}
#: Models whose distance is that in space between the antennas.
IN_SPACE = ("free-space", "two-ray", "uma", "uma-los", "umi", "umi-los")
STREETS = ("roof_height", "street_width", "separation", "street")
#: The surroundings that a model knows; the others know none.
KNOWN = {"wim": (*STREETS, "city"), "okumura-hata": ("city", "area"), "cost231-hata": ("city",)}


def default_link(model: str | None) -> tuple[float, float]:
    """The height of the base station in m and the frequency in MHz that a model has by default."""
    return BASE_HEIGHTS.get(model or "", 25.0), FREQUENCIES.get(model or "", 1800.0)


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class Transmitter:
    """A transmitter with its antenna.

    Parameters
    ----------
    x, y : float
        Position in the coordinates of the map, in m.
    power_dbm : float
        Power at the antenna's input before `loss_db`.
    height_m : float, optional
        Of the antenna above the ground. None: that of the model, 30 m for those of Hata, 10 m for "umi", else 25 m.
    frequency_mhz : float, optional
        None: 900 for "okumura-hata", else 1800.
    antenna : Antenna
        By default it radiates alike in all directions, with a gain of 0 dBi: `power_dbm` then is the EIRP.
    azimuth_deg : float
        Main direction, clockwise from the map's north.
    downtilt_deg : float
        Mechanical downtilt: the antenna is turned down by it.
    loss_db : float
        Of cables and connectors.
    name : str
    range_m : float, optional
        Distance along the ground beyond which the transmitter neither serves nor interferes, 1 or more. None: no such
        limit.

    Raises
    ------
    InvalidInput
        A number is not finite or out of range, or `antenna` is no Antenna.

    Warns
    -----
    InputWarning
        An azimuth or a downtilt of an antenna that radiates alike in all directions.

    Examples
    --------
    >>> from clgeom import radio
    >>> sector = radio.sector_antenna(gain_dbi=15)
    >>> one = radio.Transmitter(500.0, 500.0, power_dbm=43, antenna=sector, azimuth_deg=120, loss_db=2, name="A2")
    >>> one.eirp_dbm
    56.0
    """

    x: float
    y: float
    power_dbm: float = 43.0
    height_m: float | None = None
    frequency_mhz: float | None = None
    antenna: Antenna = field(default_factory=Antenna)
    azimuth_deg: float = 0.0
    downtilt_deg: float = 0.0
    loss_db: float = 0.0
    name: str = ""
    range_m: float | None = None

    def __post_init__(self) -> None:
        limits = {
            "x": ("m", -math.inf, math.inf),
            "y": ("m", -math.inf, math.inf),
            "power_dbm": ("dBm", -300, 300),
            "height_m": ("m", 0.1, 1e4),
            "frequency_mhz": ("MHz", 1, 3e5),
            "azimuth_deg": ("degrees", -360, 360),
            "downtilt_deg": ("degrees", -90, 90),
            "loss_db": ("dB", 0, 200),
            "range_m": ("m", 1, math.inf),
        }
        for name, (unit, least, most) in limits.items():
            value = getattr(self, name)
            if value is not None or name not in ("height_m", "frequency_mhz", "range_m"):
                object.__setattr__(
                    self, name, number(value, name, caller="Transmitter", least=least, most=most, unit=unit)
                )
        if not isinstance(self.antenna, Antenna):
            raise wrong("antenna", "Transmitter", "an Antenna", short(self.antenna))
        if self.antenna.is_isotropic:
            turns = {"azimuth_deg": (self.azimuth_deg, 0), "downtilt_deg": (self.downtilt_deg, 0)}
            warn_unused(turns, "Transmitter", "an antenna that radiates alike in all directions")

    @property
    def eirp_dbm(self) -> float:
        """Equivalent isotropically radiated power in the main direction: power, less losses, plus the gain."""
        return self.power_dbm - self.loss_db + self.antenna.gain_dbi


def with_defaults(one: Transmitter, model: str | None) -> Transmitter:
    """The transmitter with a height and a frequency."""
    if one.height_m is not None and one.frequency_mhz is not None:
        return one
    complete = copy.copy(one)  # replace() would warn again
    for name, default in zip(("height_m", "frequency_mhz"), default_link(model)):
        if getattr(one, name) is None:
            object.__setattr__(complete, name, default)
    return complete


@keeps_subnormals
def receiver_sensitivity(
    *, bandwidth_mhz: float, noise_figure_db: float = 7.0, snr_db: float = 0.0, temperature_k: float = 290.0
) -> float:
    """The least received power in dBm: thermal noise in the bandwidth, noise figure, and signal-to-noise ratio needed.

    Parameters
    ----------
    bandwidth_mhz, noise_figure_db, snr_db, temperature_k : float

    Returns
    -------
    float
        ``10 log10(k T B / 1 mW) + noise_figure_db + snr_db``

    Raises
    ------
    InvalidInput
        A parameter is no finite number, or the bandwidth or the temperature is out of range.

    Examples
    --------
    >>> from clgeom import radio
    >>> round(radio.receiver_sensitivity(bandwidth_mhz=10, noise_figure_db=9, snr_db=-6), 1)
    -101.0
    """
    caller = "receiver_sensitivity"
    bandwidth = number(bandwidth_mhz, "bandwidth_mhz", caller=caller, least=1e-6, most=1e6, unit="MHz")
    temperature = number(temperature_k, "temperature_k", caller=caller, least=1e-3, most=1e6, unit="K")
    noise = 10 * math.log10(1.380649e-23 * temperature * bandwidth * 1e6 * 1e3)
    return (
        noise
        + number(noise_figure_db, "noise_figure_db", caller=caller, unit="dB")
        + number(snr_db, "snr_db", caller=caller, unit="dB")
    )


def check_ranges(
    model: str,
    transmitters: Sequence[Transmitter],
    mobile_height: float,
    surroundings: dict[str, Any],
    nearest_km: float,
    farthest_km: float,
    *,
    strict: bool,
    caller: str,
) -> None:
    """Refuse what is out of the model's range, or warn of it with strict=False; warn of cells nearer than it.

    `nearest_km` and `farthest_km` are of the nearest and the farthest cell of all transmitters.
    """
    ranges = RANGES[model]
    values: dict[str, tuple[str, list[Any]]] = {}
    if model != "free-space":
        values["mobile_height"] = ("mobile_height", [mobile_height])
    values["frequency"] = ("frequency_mhz", [one.frequency_mhz for one in transmitters])
    if model != "free-space":
        values["base_height"] = ("height_m", [one.height_m for one in transmitters])
    if model == "wim":
        values |= {name: (name, [surroundings[name]]) for name in ("roof_height", "street_width", "separation")}
    needs = f"The model '{model}' of {caller} needs a"
    messages = []
    for name, (words, numbers) in values.items():
        low, high, unit = ranges[name]
        bad = next((value for value in numbers if not low <= value <= high), None)
        if bad is not None:
            limits = f"of {low:g}" if low == high else f"within {low:g} to {high:g}"
            messages.append(f"{needs} {words} {limits} {unit}. Got {bad:g} instead.")
    low, high, unit = ranges["distance"]
    if farthest_km > high:
        end = "" if not strict else f" A range_m of at most {high * 1000:g} leaves out farther cells."
        messages.append(f"{needs} farthest distance of at most {high:g} {unit}. Got {farthest_km:g} instead.{end}")
    if messages and strict:
        raise InvalidInput(f"{messages[0]} strict=False goes on with its formula.")
    if nearest_km < low:
        least, got = f"{low * 1000:g} m", f"{nearest_km * 1000:.3g} m"
        messages.append(
            f"The model '{model}' of {caller} is for distances of {least} or more. A cell is {got} from its "
            "transmitter: nearer than the range the loss continues into free space."
        )
    if messages:
        warn(" ".join(messages), InputWarning)


def rows_of(
    model: str,
    transmitters: Sequence[Transmitter],
    mobile_height: float,
    surroundings: dict[str, Any],
    transform: Sequence[float],
    grounds: Sequence[float],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The rows of all transmitters, shape (n, len(FIELDS)), and the tables of their measured patterns.

    `grounds` has the heights of the ground under them.
    """
    rows = np.zeros((len(transmitters), len(FIELDS)))
    tables: list[NDArray[np.float32]] = []
    places: dict[int, int] = {}
    a, b, c, d, e, f = transform
    one: Any
    for row, one, ground in zip(rows, transmitters, grounds):
        x, y = one.x - c, one.y - f
        column, line = (e * x - b * y) / (a * e - b * d), (a * y - d * x) / (a * e - b * d)
        values: dict[str, float] = dict.fromkeys(FIELDS, 0.0)
        values |= {"column": math.floor(column), "column_part": column - math.floor(column)}
        values |= {"row": math.floor(line), "row_part": line - math.floor(line)}
        values |= {"rise": mobile_height - one.height_m - ground, "eirp": one.eirp_dbm}
        values |= _antenna_axes(one)
        try:
            values |= _loss(model, one, mobile_height, surroundings)
        except ValueError as error:  # the logarithm of a number that is not positive
            raise InvalidInput(
                f"The model '{model}' of best_server has no value for a mobile station at {mobile_height:g} m and "
                f"{short(one)} at {one.height_m:g} m."
            ) from error
        values |= _pattern(one.antenna, tables, places)
        row[:] = [values[name] for name in FIELDS]
    return rows.astype(np.float32), np.array(tables, np.float32).reshape(-1)


def _antenna_axes(one: Transmitter) -> dict[str, float]:
    """Axes of the antenna's frame: forward, to the right, up; x to the east, y to the north."""
    azimuth, down = math.radians(one.azimuth_deg), math.radians(one.downtilt_deg)
    east, north, low, flat = math.sin(azimuth), math.cos(azimuth), math.sin(down), math.cos(down)
    return {
        **{"forward_x": east * flat, "forward_y": north * flat, "forward_z": -low},
        **{"right_x": north, "right_y": -east, "up_x": east * low, "up_y": north * low, "up_z": flat},
    }


def _pattern(antenna: Antenna, tables: list[NDArray[np.float32]], places: dict[int, int]) -> dict[str, float]:
    """The parabolas of an antenna, or the place of its table among all; angles in radians."""
    if antenna.horizontal is not None and antenna.vertical is not None:
        if id(antenna) not in places:
            places[id(antenna)] = len(tables)
            # 362 values, so that an angle that rounds to 360 degrees has a next one
            tables.append(np.concatenate([np.resize(antenna.horizontal, 362), np.resize(antenna.vertical, 362)]))
        return {"table": places[id(antenna)], "downtilt": math.radians(antenna.downtilt_deg)}
    wide, high = antenna.horizontal_beamwidth_deg, antenna.vertical_beamwidth_deg
    return {
        "table": -1,
        "across": 0.0 if wide is None else 12 / math.radians(wide) ** 2,
        "across_most": antenna.front_to_back_db,
        "along": 0.0 if high is None else 12 / math.radians(high) ** 2,
        "along_most": antenna.side_lobe_db,
        "both_most": 1e6 if wide is None else antenna.front_to_back_db,
        "downtilt": math.radians(antenna.downtilt_deg),
    }


# Models -----------------------------------------------------------------------------------------------------------


def _loss(model: str, one: Any, mobile: float, around: dict[str, Any]) -> dict[str, float]:
    """The fields of a model for one transmitter: lines by log2 of the square of the distance in m, ranges in m2."""
    low = RANGES[model]["distance"][0]
    lines, extra = LINES[model.removesuffix("-los")](
        math.log10(one.frequency_mhz), one.height_m, mobile, model.endswith("-los"), around
    )
    fields = {"free": FREE_SPACE + 20 * math.log10(one.frequency_mhz), "nearest": (low * 1000) ** 2, **extra}
    fields["rise_counts"] = float(model in IN_SPACE)
    fields["farthest"] = _below(1e30 if one.range_m is None else min(one.range_m**2, 1e30))
    for k, (a, b) in enumerate((*lines, NO_LINE, NO_LINE)[:3]):
        fields |= {f"a{k}": a, f"b{k}": b * math.log10(2) / 2}
    return fields


def _below(value: float) -> float:
    """The greatest float32 that is not above a value: so distances that are exact are compared exactly."""
    rounded = np.float32(value)
    return float(rounded if float(rounded) <= value else np.nextafter(rounded, np.float32(0)))


def _free_space(log_f: float, base: float, mobile: float, seen: bool, around: dict[str, Any]) -> Lines:
    return [(FREE_SPACE + 20 * log_f, 20.0)], {}


def _two_ray(log_f: float, base: float, mobile: float, seen: bool, around: dict[str, Any]) -> Lines:
    plane = -20 * (math.log10(base) + math.log10(mobile))
    return [(FREE_SPACE + 20 * log_f, 20.0), (plane, 40.0)], {}


def _okumura_hata(log_f: float, base: float, mobile: float, seen: bool, around: dict[str, Any]) -> Lines:
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


def _cost231_hata(log_f: float, base: float, mobile: float, seen: bool, around: dict[str, Any]) -> Lines:
    loss = 46.3 + 33.9 * log_f - 13.82 * math.log10(base) - _medium_city(log_f, mobile)
    loss += 3 * (around["city"] == "metropolitan")
    return _by_km(loss, 44.9 - 6.55 * math.log10(base))


def _medium_city(log_f: float, mobile: float) -> float:
    return (1.1 * log_f - 0.7) * mobile - (1.56 * log_f - 0.8)


def _by_km(loss: float, slope: float) -> Lines:
    """A line whose loss is given at 1 km."""
    return [(loss - 3 * slope, slope)], {}


def _urban_macro(log_f: float, base: float, mobile: float, seen: bool, around: dict[str, Any]) -> Lines:
    hidden = (13.54 + 20 * (log_f - 3) - 0.6 * (mobile - 1.5), 39.08)
    return _urban(log_f, base, mobile, 28.0, 22.0, 9.0, None if seen else hidden)


def _urban_micro(log_f: float, base: float, mobile: float, seen: bool, around: dict[str, Any]) -> Lines:
    hidden = (22.4 + 21.3 * (log_f - 3) - 0.3 * (mobile - 1.5), 35.3)
    return _urban(log_f, base, mobile, 32.4, 21.0, 9.5, None if seen else hidden)


def _urban(
    log_f: float,
    base: float,
    mobile: float,
    first: float,
    slope: float,
    share: float,
    hidden: tuple[float, float] | None,
) -> Lines:
    """Lines in space before and behind the breakpoint, and without line of sight."""
    start = first + 20 * (log_f - 3)
    turn = 4 * (base - 1) * (mobile - 1) * 10 ** (log_f + 6) / 3e8
    lines = [(start, slope), (start - share * math.log10(turn**2 + (base - mobile) ** 2), 40.0)]
    return [*lines, *([] if hidden is None else [hidden])], {}


def _walfisch_ikegami(log_f: float, base: float, mobile: float, seen: bool, around: dict[str, Any]) -> Lines:
    if seen:
        return _by_km(42.6 + 20 * log_f, 26.0)
    roof, above = around["roof_height"], base - around["roof_height"]
    to_street = -16.9 - 10 * math.log10(around["street_width"]) + 10 * log_f + 20 * math.log10(roof - mobile)
    over = above > 0
    k_d = 18.0 if over else 18 - 15 * above / roof
    k_f = -4 + (1.5 if around["city"] == "metropolitan" else 0.7) * (10**log_f / 925 - 1)
    over_roofs = (-18 * math.log10(1 + above) if over else 0) + 54 + k_f * log_f - 9 * math.log10(around["separation"])
    free = 32.4 + 20 * log_f
    lines = [(free - 60, 20.0), (free + to_street + over_roofs - 3 * (20 + k_d), 20 + k_d)]
    return lines, {"near_slope": 0.0 if over else -0.8 * above, "street": math.radians(around["street"])}


LINES: dict[str, Callable[[float, float, float, bool, dict[str, Any]], Lines]] = {
    "wim": _walfisch_ikegami,
    "free-space": _free_space,
    "two-ray": _two_ray,
    "okumura-hata": _okumura_hata,
    "cost231-hata": _cost231_hata,
    "uma": _urban_macro,
    "umi": _urban_micro,
}
