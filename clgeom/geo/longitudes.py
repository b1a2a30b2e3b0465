"""Longitudes on the circle: the widest gap between them, hulls across the antimeridian, and where these are cut.

    as given      -179 -178 ........................................ 177 179     358 degrees wide
    continuous                                                       177 179 181 182     5 degrees wide

The neighbours that are widest apart on the circle are the ends. All signs are decided exactly: a longitude that is
moved by a turn may not be a float, so it is moved as an integer or a fraction.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from clgeom.arguments import wrong_file
from clgeom.core.messages import printable, swapped_words
from clgeom.errors import InvalidInput
from clgeom.geo.exact import exact_area, integers, ordered_hull
from clgeom.geo.geodesy import as_crs, turn_of
from clgeom.intake.arrays import finite_rows
from clgeom.intake.typing import NDArray
from clgeom.optional import is_installed

#: Parts of a turn: gaps that are narrower than one are not told apart.
PARTS = 1 << 16
#: Parts of a turn of which a sample has the ends.
SAMPLED = 512
#: Share of a quarter of a turn by which a pole's latitude may be rounded, for units such as the radian.
ROUNDED = 1e-9
#: Longitude of one turn in degrees.
DEGREES = 360.0


def turn_of_crs(crs: Any) -> float | None:
    """Return the longitude of one turn in the unit of a geographic system; None for others, and without pyproj."""
    if crs is None or not is_installed("pyproj"):
        return None
    try:
        turn = turn_of(as_crs(crs, caller="convex_hull"))
    except InvalidInput:  # not a horizontal system
        return None
    return turn if turn is None or abs(turn - round(turn)) > 1e-9 else float(round(turn))


def wrapped(longitudes: NDArray[Any], turn: float) -> NDArray[Any]:
    """Longitudes from minus half a turn to below half a turn, exactly."""
    if longitudes.size and -turn / 2 <= longitudes.min() and longitudes.max() < turn / 2:
        return longitudes
    x = np.fmod(longitudes, turn)  # exact; and so are differences of numbers within a factor of two of each other
    return np.where(x >= turn / 2, x - turn, np.where(x < -turn / 2, x + turn, x))


@dataclass(frozen=True)
class Across:
    """Continuous longitudes across the antimeridian: those of a wrapped value below `cut` are a `turn` further."""

    cut: float
    turn: float

    def is_east(self, longitudes: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which longitudes are a turn further east than their wrapped value."""
        return wrapped(longitudes, self.turn) < self.cut

    def continuous(self, points: NDArray[Any]) -> NDArray[np.float64]:
        """Return the positions with continuous longitudes, rounded to float64."""
        moved = np.array(points, np.float64)
        x = wrapped(moved[..., 0], self.turn)
        moved[..., 0] = np.where(x < self.cut, x + self.turn, x)
        return moved

    def exact(self, points: NDArray[Any]) -> tuple[list[int], list[int], int, int]:
        """Continuous longitudes, latitudes, and half a turn, as integers; and the exponent of a product of both."""
        x, y = np.asarray(points, np.float64).T
        x, east = wrapped(x, self.turn), self.is_east(x)
        (*across, turn, half), unit = integers([*x.tolist(), self.turn, self.turn / 2])
        latitudes, unit_of_y = integers(y.tolist())
        return [a + turn * e for a, e in zip(across, east.tolist())], latitudes, half, unit + unit_of_y

    def area(self, corners: NDArray[Any]) -> float:
        """Return the area of a counter-clockwise polygon, rounded to float64 as `Hull.area` is."""
        x, y, _, exponent = self.exact(corners)
        return exact_area(x, y, exponent)

    def cut_up(self, corners: NDArray[Any], dimension: int) -> dict[str, Any]:
        """Return a hull as a GeoJSON-like geometry that is cut at half a turn (RFC 7946, section 3.1.9).

        Vertices keep every bit of wrapped longitudes. Where an edge is cut, the latitude is the nearest float64.
        """
        corners = np.asarray(corners, np.float64)
        x, (across, _, half, _) = wrapped(corners[:, 0], self.turn), self.exact(corners)
        if dimension == 0:
            return {"type": "Point", "coordinates": (x[0].item(), corners[0, 1].item())}
        heights = [Fraction(value) for value in corners[:, 1].tolist()]
        ends: float = self.turn / 2
        sides: tuple[list[Any], list[Any]] = ([], [])  # west and east of half a turn
        for k, (longitude, latitude) in enumerate(zip(x.tolist(), corners[:, 1].tolist())):
            east = across[k] - half
            if east <= 0:
                sides[0].append((longitude if east or longitude > 0 else ends, latitude))
            if east >= 0:
                sides[1].append((longitude, latitude))
            after = (k + 1) % len(x)
            if east * (across[after] - half) < 0 and (after or dimension == 2):
                share = Fraction(half - across[k], across[after] - across[k])
                place = float(heights[k] + share * (heights[after] - heights[k]))
                for side, end in zip(sides, (ends, -ends)):
                    side.append((end, place))
        if dimension == 1:
            lines = [tuple(side) for side in sides if len(set(side)) > 1]
            return _one_or_many("LineString", lines)
        rings = []
        for side in sides:
            # rounded latitudes may bend a thin piece inwards: the hull of its vertices is valid
            order, kind = ordered_hull(*np.array(side).reshape(-1, 2).T.tolist(), keep_collinear=True)
            if kind == 2:
                rings.append((tuple(side[k] for k in [*order, order[0]]),))
        return _one_or_many("Polygon", rings)


def _one_or_many(kind: Any, parts: Any) -> dict[str, Any]:
    if len(parts) == 1:
        return {"type": kind, "coordinates": parts[0]}
    return {"type": f"Multi{kind}", "coordinates": tuple(parts)}


class Longitudes:
    """Longitudes of points, in as many calls as needed: the widest gap between neighbours on the circle."""

    def __init__(self, turn: float) -> None:
        self.turn = turn
        self._least, self._most = np.full(PARTS, np.inf), np.full(PARTS, -np.inf)
        self._low, self._high = np.inf, -np.inf

    def add(self, longitudes: NDArray[Any]) -> None:
        """Add finite longitudes."""
        if not len(longitudes):
            return
        x = np.asarray(longitudes, np.float64)
        self._low, self._high = min(self._low, x.min().item()), max(self._high, x.max().item())
        x = wrapped(x, self.turn)
        part = np.clip(((x / self.turn + 0.5) * PARTS).astype(np.int64), 0, PARTS - 1)
        np.minimum.at(self._least, part, x)
        np.maximum.at(self._most, part, x)

    @functools.cached_property
    def _widest(self) -> tuple[Any, ...]:
        """The widest gap, exactly, and the longitude after it; of equal ones that across 180 degrees, or the first."""
        there = np.isfinite(self._least)
        low, high = self._least[there], self._most[there]
        gaps = np.append(low[1:], low[0] + self.turn) - high
        near = np.flatnonzero(gaps >= gaps.max() - self.turn * 2.0**-48)
        after = [*low[1:].tolist(), low[0].item()]
        exact = {k: Fraction(after[k]) - Fraction(high[k].item()) for k in near.tolist()}
        if len(high) - 1 in exact:
            exact[len(high) - 1] += Fraction(self.turn)
        widest = max(exact, key=lambda k: (exact[k], k == len(high) - 1, -k))
        return exact[widest], after[widest]

    @property
    def goes_round(self) -> bool:
        """Whether there is no gap of half a turn or more."""
        return self._widest[0] < Fraction(self.turn) / 2

    @property
    def widths(self) -> tuple[float, float]:
        """How wide the longitudes are as given, and on the circle."""
        return self._high - self._low, float(Fraction(self.turn) - self._widest[0])

    @property
    def across(self) -> Across | None:
        """How longitudes become continuous if that makes them less wide than they are as given; else None."""
        gap, cut = self._widest
        closer = Fraction(self.turn) - gap < Fraction(self._high) - Fraction(self._low)
        return Across(cut, self.turn) if closer else None


@dataclass(frozen=True, eq=False)
class Sample:
    """The least and the greatest longitude of each group and part of a turn; none of points that are not on a circle.

    Gaps between them are known exactly, but for those that are narrower than a part.
    """

    turn: float | None
    counts: NDArray[np.int64]  # of the longitudes of each group
    longitudes: NDArray[np.float64]  # of one group after another

    @classmethod
    def empty(cls, groups: int) -> Sample:
        """Return the sample of points that are not on a circle."""
        return cls(None, np.zeros(groups, np.int64), np.empty(0))

    @classmethod
    def of(cls, points: Any, owners: NDArray[Any], groups: int, turn: float | None) -> Sample:
        """Return a sample of points; `owners` has the group of each, -1 for none."""
        if turn is None:
            return cls.empty(groups)
        ((rows, numbers),) = numbered_parts([points])
        owners = owners[numbers]
        grouped = owners >= 0
        return cls._of_longitudes(owners[grouped], rows[grouped, 0], groups, turn)

    @classmethod
    def _of_longitudes(cls, owners: NDArray[Any], longitudes: NDArray[Any], groups: int, turn: float) -> Sample:
        longitudes = np.asarray(longitudes, np.float64)
        x = wrapped(longitudes, turn)
        part = owners * SAMPLED + np.clip(((x / turn + 0.5) * SAMPLED).astype(np.int64), 0, SAMPLED - 1)
        order = np.lexsort((x, part))
        ends = np.flatnonzero(part[order][1:] != part[order][:-1])
        picked = order[np.unique(np.concatenate([ends, ends + 1, [0, len(x) - 1]]))] if len(x) else order
        return cls(turn, np.bincount(owners[picked], minlength=groups).astype(np.int64), longitudes[picked])

    @classmethod
    def merged(cls, samples: Sequence[Sample], numbers: NDArray[Any], groups: int) -> Sample:
        """Return a sample of several; `numbers` has the new group of each of their groups, one sample after another."""
        turn = next((sample.turn for sample in samples if sample.turn is not None), None)
        if turn is None:
            return cls.empty(groups)
        owners = np.repeat(numbers, np.concatenate([sample.counts for sample in samples]))
        return cls._of_longitudes(owners, np.concatenate([sample.longitudes for sample in samples]), groups, turn)


def latitude_fault(values: Any, turn: float | None) -> str | None:
    """Return the fault of points whose finite y are beyond a quarter of a `turn`; None for no fault or no turn."""
    y = np.asarray(values, np.float64)
    if turn is None or not y.size:
        return None
    farthest = y[np.argmax(np.abs(y))].item()
    if abs(farthest) <= turn / 4 * (1 + ROUNDED):
        return None
    most = f"{turn / 4:.10g}"
    said = f"are no longitudes and latitudes: latitudes are from -{most} to {most}, and they reach {farthest:.10g}"
    return said + swapped_words(farthest, turn)


def require_latitudes(values: Any, turn: float | None, path: Any, *, of: str = "") -> None:
    """Refuse to write points `of` a source, as " of 'a.csv'", to a geographic `path` if their y are no latitudes."""
    words = latitude_fault(values, turn)
    if words is not None:
        raise wrong_file(
            printable(os.fspath(path)),
            f"would be in a geographic reference system, but the points{of} {words}. Name the system that "
            "they are in: --crs EPSG:32632, or 'crs' in Python",
            kind="output",
        )


def antimeridian_warning(
    longitudes: Longitudes, latitudes: Sequence[float], *, wanted: bool, remedy: str
) -> str | None:
    """Return the warning for points with these longitudes and extreme latitudes; None for no warning."""
    words, (given, closer) = [], longitudes.widths
    if longitudes.across is not None and not wanted:
        words.append(
            f"lie closer together across the antimeridian: they are {given:.10g} wide in longitude, and {closer:.10g} "
            f"across it ({remedy})"
        )
    low, high = latitudes
    if longitudes.goes_round and (low > 0 or high < 0):
        pole = "north" if low > 0 else "south"
        words.append(
            f"lie all around the {pole} pole: their longitudes have no gap of half a turn, and no hull in longitude "
            "and latitude contains the pole (reproject them to a polar system)"
        )
    return " and ".join(words) or None


def numbered_parts(parts: Any) -> Any:
    """Yield (finite rows, their numbers among all) for each of several arrays of points, one after another."""
    first = 0
    for points in parts:
        rows = np.ma.getdata(points)
        there = finite_rows(rows)
        if np.ma.is_masked(points):
            there &= ~np.ma.getmaskarray(points).any(axis=1)
        yield (rows if there.all() else rows[there]), first + np.flatnonzero(there)
        first += len(points)
