"""Coverage regions as a map page: parts with their attributes, the raster as an image, axes, longitude and latitude."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clgeom.arguments import instance, wrong
from clgeom.core.messages import counted
from clgeom.errors import InvalidInput, short
from clgeom.geo.geodesy import as_crs, shown
from clgeom.intake.typing import NDArray
from clgeom.io.atomic import check_output
from clgeom.io.features import count_vertices, features_of
from clgeom.optional import is_installed
from clgeom.plotting.html import PAGE_FORMATS
from clgeom.plotting.maps import MapFrame, MapPart, image_of, save_map

#: Sizes of grids for longitude and latitude, and the decimals of degrees that are enough: 0.1 m.
GRIDS, ENOUGH = (5, 9, 17, 33, 65), 6
#: The transform of a raster without a position.
IDENTITY = (1, 0, 0, 0, 1, 0)
#: The name of an axis, the unit of its values, and the unit of distances.
Axis = tuple[str, str, str]
#: Length of a radian on the earth in metres.
RADIAN = 6_371_008.8


def save_page(
    regions: Iterable[Any],
    path: Any,
    *,
    values: Any = None,
    transform: Sequence[float] = IDENTITY,
    label: str = "Raster",
    unit: str = "",
    title: str | None = None,
    sites: Sequence[Any] = (),
) -> None:
    """Write regions to an .html file: a map that pans, zooms, shows and hides levels, and tells attributes.

    Parameters
    ----------
    regions : sequence of CoverageRegion, CoveragePolygon or Nested
        All of one raster.
    path : path-like
    values : array_like, shape (rows, columns), optional
        The raster, or few of its cells; NaN is not drawn. It needs Matplotlib.
    transform : sequence of 6 float
        From columns and rows of `values` to map coordinates.
    label : str
        Name of the raster in the legend.
    unit : str
        Unit of the levels; empty for none.
    title : str, optional
    sites : sequence of (float, float), optional
        Positions of transmitters in map coordinates.

    Raises
    ------
    InvalidInput
        There is no region, or the file cannot be written.
    """
    for name, value in (("unit", unit), ("title", title or "")):
        instance(value, str, "text", name, caller="a map page")
    sites = _checked_sites(sites)
    check_output(path, PAGE_FORMATS)
    ordered = sorted(regions, key=lambda region: -region.level if region.direction == ">=" else region.level)
    features = features_of(ordered, unit=unit)
    if not features:
        raise InvalidInput("A map page needs a region that is not empty.")
    grid = next(region.grid for region in ordered if region)
    system = as_crs(grid.crs, caller="to_html") if grid.crs is not None and is_installed("pyproj") else None
    axes = _axes(system, grid)
    parts = [_part(feature, axes[1][2]) for feature in features]
    frame = _frame(parts, grid, system, axes, sites)
    picture = None if values is None else image_of(values, transform, label=label, unit=unit)
    levels = ", ".join(f"{level:g}" for level in dict.fromkeys(region.level for region in ordered if region))
    if title is None:
        title = f"Coverage {ordered[0].direction} {levels} {unit}".rstrip()
    rows, columns = grid.shape
    words = f"{counted(len(parts), 'part', 'parts')} of {rows:,} x {columns:,} cells, {_system(grid.crs, system)}."
    save_map(path, parts, frame, title=title, words=words, image=picture)


def _part(feature: Any, unit: str) -> MapPart:
    """A feature as a part of the page, with readable names of its attributes."""
    values, square = feature.properties, "cells" if unit == "cells" else f"{unit}\u00b2" if unit else "map units\u00b2"
    geometry = feature.geometry
    polygons = [geometry["coordinates"]] if geometry["type"] == "Polygon" else geometry["coordinates"]

    def text(name: str, form: str, suffix: str = "") -> str | None:
        return None if values.get(name) is None else f"{values[name]:{form}}{suffix}"

    area_km2 = values.get("area_km2")
    attributes = {
        "id": f"{values['id']}",
        "level": f"{values['level']:g} {values['unit'] or ''}".rstrip(),
        "map": f"{values['map']}" if values["map"] else None,
        "part": text("part", "d"),
        "cells": text("cells", ",d"),
        "area of cells": text("cells_area", ",.6g", f" {square}"),
        "area of polygon": text("area", ",.6g", f" {square}"),
        "on the ellipsoid": text("area_km2", ",.6g", " km\u00b2"),
        "vertices": f"{count_vertices(geometry):,}",
        "holes": f"{sum(len(rings) - 1 for rings in polygons):,}",
    }
    if area_km2 is not None and area_km2 < 0.1:
        attributes["on the ellipsoid"] = f"{area_km2 * 1e6:,.6g} m\u00b2"
    return MapPart(values["label"], polygons, {name: value for name, value in attributes.items() if value is not None})


def _checked_sites(sites: Sequence[Any]) -> list[tuple[float, float]]:
    """Positions as pairs of finite floats."""
    try:
        places = np.asarray(list(sites) or np.empty((0, 2)), np.float64)
    except (TypeError, ValueError):
        places = np.empty(0)
    if places.ndim != 2 or places.shape[1] != 2 or not np.isfinite(places).all():
        raise wrong("sites", "a map page", "pairs (x, y) of finite numbers", short(sites))
    return [(x, y) for x, y in places.tolist()]


def _frame(
    parts: Sequence[MapPart], grid: Any, system: Any, axes: tuple[Axis, ...], sites: list[tuple[float, float]]
) -> MapFrame:
    """The frame of a page that shows all parts, all cells and all transmitters."""
    rows, columns = grid.shape
    corners = [grid.to_map([(0, 0), (0, rows), (columns, 0), (columns, rows)])]
    corners += [np.asarray(ring, np.float64) for part in parts for rings in part.polygons for ring in rings]
    corners += [np.array(sites)] if sites else []
    places = np.concatenate(corners)
    (left, low), (right, high) = places.min(axis=0).tolist(), places.max(axis=0).tolist()
    frame = MapFrame(
        (left, low, right, high), math.sqrt(grid.cell_area), axes, tuple(grid.transform) == IDENTITY, sites=sites
    )
    if system is None:
        return frame
    factor = system.axis_info[0].unit_conversion_factor
    if not system.is_geographic:
        return replace(frame, metres=factor, lonlat=_lonlat(frame.bounds, system))
    return replace(frame, metres=factor * RADIAN, stretch=max(math.cos((low + high) / 2 * factor), 0.05))


def _axes(system: Any, grid: Any) -> tuple[Axis, ...]:
    """For x and for y its name, the unit of its values, and the unit of distances."""
    if system is None:
        cells = tuple(grid.transform) == IDENTITY
        return (("column", "", "cells"), ("row", "", "cells")) if cells else (("x", "", ""), ("y", "", ""))
    unit = system.axis_info[0].unit_name
    unit = {"metre": "m", "degree": "\u00b0"}.get(unit, unit)
    names = ("longitude", "latitude") if system.is_geographic else ("easting", "northing")
    return tuple((name, unit, unit) for name in names)


def _system(crs: Any, system: Any) -> str:
    """A coordinate reference system in words."""
    if crs is None:
        return "no coordinate reference system"
    if system is None:
        return shown(crs).strip("'")
    code = system.to_string()
    return f"{system.name} ({code})" if len(code) <= 16 else shown(system.name).strip("'")


def _lonlat(bounds: tuple[float, ...], system: Any) -> tuple[Any, Any, int] | None:
    """(longitudes, latitudes, right decimals) on a grid over the bounds; None where the system has none."""
    import pyproj

    grid = None
    try:
        to_earth = pyproj.Transformer.from_crs(system, "EPSG:4326", always_xy=True)
        for count in GRIDS:
            x, y = (np.linspace(low, high, 2 * count - 1) for low, high in zip(bounds[:2], bounds[2:]))
            longitude, latitude = to_earth.transform(*np.meshgrid(x, y))
            if not (np.isfinite(longitude).all() and np.isfinite(latitude).all()):
                return None
            longitude = longitude[0, 0] + (longitude - longitude[0, 0] + 180) % 360 - 180  # across 180 degrees
            error = max(float(np.abs(_interpolated(values) - values).max()) for values in (longitude, latitude))
            digits = min(max(math.floor(-math.log10(max(error, 1e-9))), 0), 8)
            grid = (longitude[::2, ::2], latitude[::2, ::2], digits) if digits else None
            if digits >= ENOUGH:
                break
    except pyproj.exceptions.ProjError:  # a local system
        return None
    return grid


def _interpolated(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values at all positions, interpolated between every second row and column."""
    out = values.copy()
    out[1::2] = (out[:-1:2] + out[2::2]) / 2
    out[:, 1::2] = (out[:, :-1:2] + out[:, 2::2]) / 2
    return out
