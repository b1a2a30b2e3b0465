"""Coordinate reference systems that points bring along: those of GeoPandas and laspy."""

from __future__ import annotations

import struct
import warnings
from typing import Any

from clgeom.intake.interop.frames import is_laspy
from clgeom.intake.interop.parameter import is_instance
from clgeom.optional import is_installed

#: Exceptions that laspy and lazrs raise for damaged files, besides errors of their own.
DAMAGED = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RuntimeError, EOFError, struct.error)


def is_geopandas(rows: object) -> bool:
    """Return whether `rows` is a GeoDataFrame or a GeoSeries."""
    return is_instance(rows, "geopandas", "GeoSeries", "GeoDataFrame")


def crs_of(points: Any) -> Any:
    """Return the coordinate reference system of points in an object of GeoPandas or laspy, None for other points."""
    if is_laspy(points):
        return crs_of_header(points.header) if hasattr(points, "header") else None
    try:
        return points.crs if is_geopandas(points) else None
    except AttributeError:  # a frame without an active geometry
        return None


def crs_of_header(header: Any) -> str | None:
    """Return the horizontal reference system in the header of a LAS file, None if there is none or pyproj does not know
    it.
    """
    if not is_installed("pyproj"):
        return None
    import pyproj

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            crs = header.parse_crs()
    except (pyproj.exceptions.ProjError, *DAMAGED):
        return None
    parts = [] if crs is None else crs.sub_crs_list if crs.is_compound else [crs]
    return next((part.to_string() for part in parts if part.is_projected or part.is_geographic), None)
