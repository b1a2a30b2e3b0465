"""Read tables of transmitters: positions, antennas and powers of the cells of a radio network, by names of columns."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clgeom.arguments import wrong_file
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import listed, shown
from clgeom.errors import InvalidInput
from clgeom.io.files import FilePath
from clgeom.io.layout import decoded, what_is_wrong
from clgeom.io.numbers import as_float
from clgeom.io.tables import read_blocks

#: Names of columns, in lower case, for each number of a transmitter, with its unit and its least and greatest value.
NUMBERS: dict[str, tuple[tuple[str, ...], str, float, float]] = {
    "power_dbm": (("power_dbm", "power"), "dBm", -300, 300),
    "height_m": (("height_m", "height"), "m", 0.1, 1e4),
    "frequency_mhz": (("frequency_mhz", "frequency"), "MHz", 1, 3e5),
    "azimuth_deg": (("azimuth_deg", "azimuth"), "degrees", -360, 360),
    "downtilt_deg": (("downtilt_deg", "downtilt", "tilt_deg", "tilt"), "degrees", -90, 90),
    "loss_db": (("loss_db", "loss"), "dB", 0, 200),
    "range_m": (("range_m", "range"), "m", 1, math.inf),
    "gain_dbi": (("gain_dbi", "gain"), "dBi", -100, 100),
}
#: The same for text.
TEXTS = {"name": ("name", "site", "cell", "sector", "id"), "antenna": ("antenna",)}
#: Names of pairs of columns of positions; the second pair is of longitudes and latitudes.
PLACES = ((("x", "easting"), ("y", "northing")), (("lon", "longitude"), ("lat", "latitude")))


@dataclass(frozen=True)
class Site:
    """A row of the table: its line, and the values of the fields that are not empty."""

    line: int
    x: float
    y: float
    values: dict[str, Any]


@dataclass(frozen=True)
class Sites:
    """The rows of a table of transmitters."""

    path: FilePath
    rows: list[Site]
    lonlat: bool  #: positions are longitudes and latitudes
    columns: dict[str, str]  #: the name in the header for each value
    unknown: tuple[str, ...]  #: columns that mean nothing here

    def refuse(self, site: Site, name: str, what: object) -> InvalidInput:
        """Return the error for a value of a row."""
        return wrong_file(self.path, f"has in line {site.line}, column '{shown(self.columns[name])}': {what}")


@keeps_subnormals
def read_sites(path: FilePath) -> Sites:
    """Return the transmitters of a table of text with a header. An error names the line and the column."""
    found: dict[str, int] = {}

    def choose(names: Any, width: int) -> tuple[Any, ...]:
        if names is None:
            raise wrong_file(path, "has no header; its first line must name the columns, such as name,x,y,power_dbm")
        if not names[0].startswith("\0"):  # the layout tries such names
            found.update(_positions(path, names))
        return (), None

    rows: list[Site] = []
    header: Sequence[str] = ()
    for block in read_blocks(path, choose):
        header = block.layout.names or ()
        for line, _, fields in block.rows():
            rows.append(_row(path, line, fields, header, found))
    if not rows:
        raise wrong_file(path, "has no transmitters")
    used = set(found.values())
    unknown = tuple(name for position, name in enumerate(header) if position not in used)
    columns = {name: header[position] for name, position in found.items()}
    lonlat = columns["x"].strip().lower() in PLACES[1][0]
    return Sites(path, rows, lonlat, columns, unknown)


def _positions(path: FilePath, names: Sequence[str]) -> dict[str, int]:
    """Return the positions of the columns of all values that the header names."""
    lower = [name.strip().lower() for name in names]
    known = {name: aliases for name, (aliases, *_) in NUMBERS.items()} | TEXTS
    found: dict[str, int] = {}
    for name, aliases in known.items():
        own = [position for position, text in enumerate(lower) if text in aliases]
        if name == "name":  # the first of the names that say more
            first = next((alias for alias in aliases if alias in lower), None)
            own = [position for position, text in enumerate(lower) if text == first]
        if len(own) > 1:
            raise wrong_file(path, f"has {len(own)} columns for the {name}: {listed([names[at] for at in own])}")
        if own:
            found[name] = own[0]
    pairs = [(x, y) for across, up in PLACES for x in across for y in up if lower.count(x) == 1 and lower.count(y) == 1]
    if len(pairs) != 1:
        fault = "has two pairs of columns" if pairs else "has no columns"
        raise wrong_file(path, f"{fault} of positions; name one pair x,y or lon,lat. It has: {listed(names)}")
    x, y = pairs[0]
    return found | {"x": lower.index(x), "y": lower.index(y)}


def _row(path: FilePath, line: int, fields: Sequence[str], header: Sequence[str], found: dict[str, int]) -> Site:
    values: dict[str, Any] = {}
    for name, position in found.items():
        field = fields[position].strip()
        if not field and name not in ("x", "y"):
            continue
        if name in TEXTS:
            values[name] = decoded(field)
            continue
        _, unit, least, most = NUMBERS.get(name, ((), "", -math.inf, math.inf))
        where = f"has in line {line}, column '{shown(header[position])}'"
        if wrong := what_is_wrong(field, "a number"):
            raise wrong_file(path, f"{where}: {wrong}")
        values[name] = as_float(field)
        if not (math.isfinite(values[name]) and least <= values[name] <= most):
            limits = f"within {least:g} to {most:g}" if math.isfinite(most) else f"{least:g} or more"
            limits = "a finite number" if math.isinf(least) else f"{limits} {unit}"
            raise wrong_file(path, f"{where}: it must be {limits}, and is {shown(field)}")
    return Site(line, values.pop("x"), values.pop("y"), values)


def nearest_column(name: str) -> str:
    """Return a question with the known column that is most like an unknown one; "" if none is."""
    known = [alias for aliases, *_ in NUMBERS.values() for alias in aliases]
    known += [alias for aliases in TEXTS.values() for alias in aliases]
    found = difflib.get_close_matches(name.strip().lower(), known, n=1)
    return f" Did you mean '{found[0]}'?" if found else ""
