"""Transmitters, and the row of numbers of each for the kernel of `best_server`, computed once on the host."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clgeom.arguments import number, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InputWarning, InvalidInput, short, warn
from clgeom.intake.typing import NDArray
from clgeom.radio.antennas import Antenna, warn_unused
from clgeom.radio.models import MODELS, STREETS, loss_fields

#: The fields of a row, in the order of templates/radio/best_server.cl.mako.
FIELDS = (
    *("column", "column_part", "row", "row_part", "rise"),
    *("forward_x", "forward_y", "forward_z", "right_x", "right_y", "up_x", "up_y", "up_z"),
    *("eirp", "rise_counts", "free", "nearest", "farthest"),
    *("a0", "b0", "a1", "b1", "a2", "b2", "near_slope", "street"),
    *("table", "across", "across_most", "along", "along_most", "both_most", "downtilt"),
)
#: Further fields of a model with a `bend`.
BENT = ("linear", "bend")


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
        Of the antenna above the ground. None: that of the model, 30 m for those of Hata, 10 m for "umi", 35 m
        for "rma", else 25 m.
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


def with_defaults(one: Transmitter, model: str) -> Transmitter:
    """Return the transmitter with a height and a frequency."""
    if one.height_m is not None and one.frequency_mhz is not None:
        return one
    complete = copy.copy(one)  # replace() would warn again
    for name, default in (("height_m", MODELS[model].base_height), ("frequency_mhz", MODELS[model].frequency)):
        if getattr(one, name) is None:
            object.__setattr__(complete, name, default)
    return complete


@keeps_subnormals
def receiver_sensitivity(
    *, bandwidth_mhz: float, noise_figure_db: float = 7.0, snr_db: float = 0.0, temperature_k: float = 290.0
) -> float:
    """Return the least received power in dBm: thermal noise in the bandwidth, noise figure, and signal-to-noise ratio
    needed.

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
    """Refuse values out of the model's range, or warn of them with strict=False; warn of cells nearer than it.

    `nearest_km` and `farthest_km` are of the nearest and the farthest cell of all transmitters.
    """
    ranges = MODELS[model].ranges
    values: dict[str, tuple[str, list[Any]]] = {"frequency": ("frequency_mhz", [t.frequency_mhz for t in transmitters])}
    if model != "free-space":
        values = {"mobile_height": ("mobile_height", [mobile_height]), **values}
        values["base_height"] = ("height_m", [one.height_m for one in transmitters])
    values |= {name: (name, [surroundings[name]]) for name in STREETS[:3] if name in MODELS[model].surroundings}
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


def fields_of(model: str) -> tuple[str, ...]:
    """Return the names of the numbers of a row."""
    return FIELDS if MODELS[model].bend is None else FIELDS + BENT


def rows_of(
    model: str,
    transmitters: Sequence[Transmitter],
    cells: NDArray[np.float64],
    mobile_height: float,
    surroundings: dict[str, Any],
    grounds: Sequence[float],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the rows of all transmitters, shape (n, number of fields), and the tables of their measured patterns.

    `cells` has their columns and rows, `grounds` the heights of the ground under them.
    """
    fields = fields_of(model)
    rows = np.zeros((len(transmitters), len(fields)))
    tables: list[NDArray[np.float32]] = []
    places: dict[int, int] = {}
    one: Any
    for out, one, (column, row), ground in zip(rows, transmitters, cells.tolist(), grounds):
        values: dict[str, float] = dict.fromkeys(fields, 0.0)
        values |= {"column": math.floor(column), "column_part": column - math.floor(column)}
        values |= {"row": math.floor(row), "row_part": row - math.floor(row)}
        values |= {"rise": mobile_height - one.height_m - ground, "eirp": one.eirp_dbm}
        values["farthest"] = _round_down(1e30 if one.range_m is None else min(one.range_m**2, 1e30))
        values |= _antenna_axes(one)
        try:
            values |= loss_fields(model, one.frequency_mhz, one.height_m, mobile_height, surroundings)
        except ValueError as error:  # the logarithm of a number that is not positive
            raise InvalidInput(
                f"The model '{model}' of best_server has no value for a mobile station at {mobile_height:g} m and "
                f"{short(one)} at {one.height_m:g} m."
            ) from error
        values |= _pattern(one.antenna, tables, places)
        out[:] = [values[name] for name in fields]
    return rows.astype(np.float32), np.array(tables, np.float32).reshape(-1)


def _round_down(value: float) -> float:
    """Return the greatest float32 up to a value, so that exact distances are compared exactly."""
    rounded = np.float32(value)
    return float(rounded if float(rounded) <= value else np.nextafter(rounded, np.float32(0)))


def _antenna_axes(one: Transmitter) -> dict[str, float]:
    """Return the axes of the antenna's frame: forward, right, up; x to the east, y to the north."""
    azimuth, down = math.radians(one.azimuth_deg), math.radians(one.downtilt_deg)
    east, north, low, flat = math.sin(azimuth), math.cos(azimuth), math.sin(down), math.cos(down)
    return {
        **{"forward_x": east * flat, "forward_y": north * flat, "forward_z": -low},
        **{"right_x": north, "right_y": -east, "up_x": east * low, "up_y": north * low, "up_z": flat},
    }


def _pattern(antenna: Antenna, tables: list[NDArray[np.float32]], places: dict[int, int]) -> dict[str, float]:
    """Return the parabolas of an antenna, or the index of its table; angles in radians."""
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
