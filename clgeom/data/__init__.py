"""Real coordinates that clgeom contains. README.rst beside this file has their licences and origins."""

from __future__ import annotations

import functools
import importlib.resources
from dataclasses import dataclass

from typing import Any

import numpy as np

from clgeom.intake.typing import NDArray
from clgeom.core.host_floats import keeps_subnormals


@dataclass(frozen=True, eq=False)
class Cities:
    """Cities of the world, parallel columns.

    `points` is (n, 2) float64: longitude and latitude in degrees (WGS 84). `names` and `countries` (two-letter codes)
    are tuples of str, `populations` is int32.
    """

    points: NDArray[Any]
    names: tuple[str, ...]
    countries: tuple[str, ...]
    populations: NDArray[Any]

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        return f"Cities({len(self):,} cities in {len(set(self.countries))} countries)"

    def label(self, index: int) -> str:
        """Name and country of one city."""
        return f"{self.names[index]} ({self.countries[index]})"


@keeps_subnormals
@functools.cache
def cities() -> Cities:
    """The cities of GeoNames with 15,000 inhabitants or more, and capitals with fewer, ordered by country and name.

    Source: GeoNames, CC BY 4.0. The arrays are shared and read-only.

    Returns
    -------
    Cities
        `points` (longitude and latitude in degrees), `names`, `countries` and `populations`, one entry for each city.

    Examples
    --------
    >>> from clgeom.data import cities
    >>> cities()
    Cities(34,006 cities in 244 countries)
    >>> cities().label(0), cities().points[0].round(1).tolist()
    ('Andorra la Vella (AD)', [1.5, 42.5])
    """
    with importlib.resources.files(__name__).joinpath("cities.npz").open("rb") as file:
        columns = np.load(file)
        # Stored as whole hundred-thousandths of a degree; the division gives back GeoNames' decimals exactly.
        points = np.column_stack([columns["lon"], columns["lat"]]) / 100_000
        names = tuple(columns["names"].tobytes().decode().split("\n"))
        countries = tuple(code.decode() for code in columns["country"].tolist())
        populations = columns["population"]
    points.setflags(write=False)
    populations.setflags(write=False)
    return Cities(points, names, countries, populations)
