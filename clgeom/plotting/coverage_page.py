"""Coverage regions as a map page: parts with their attributes, the raster as an image, axes, longitude and latitude."""

from __future__ import annotations

import math

import numpy as np

from clgeom.arguments import instance, wrong
from clgeom.errors import InvalidInput, short
from clgeom.geo.geodesy import as_crs, shown
from clgeom.io.atomic import check_output
from clgeom.io.features import count_vertices, features_of
from clgeom.optional import is_installed
from clgeom.plotting.html import PAGE_FORMATS
from clgeom.plotting.maps import MapFrame, MapPart, image_of, save_map

#: Sizes of grids for longitude and latitude, and the decimals of degrees that are enough: 0.1 m.
GRIDS, ENOUGH = (5, 9, 17, 33, 65), 6
#: The transform of a raster without a position.
IDENTITY = (1, 0, 0, 0, 1, 0)
#: Length of a radian on the earth in metres.
RADIAN = 6_371_008.8


def save_page(regions, path, *, values=None, transform=IDENTITY, label="Raster", unit="", title=None, sites=()) -> None:
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
    crs = grid.crs
    names = _axes(crs, grid)
    parts = [_part(feature, names[1][2]) for feature in features]
    frame = _frame(parts, grid, crs, names, sites)
    picture = None if values is None else image_of(values, transform, label=label, unit=unit)
    levels = ", ".join(f"{level:g}" for level in dict.fromkeys(region.level for region in ordered if region))
    what = f"Coverage {ordered[0].direction} {levels} {unit}".rstrip()
    rows, columns = grid.shape
    words = f"{len(parts):,} part{'s' * (len(parts) != 1)} of {rows:,} x {columns:,} cells, {_system(crs)}."
    save_map(path, parts, frame, title=what if title is None else title, words=words, image=picture)


def _part(feature, unit):
    """A feature as a part of the page, with readable names of its attributes."""
    own, square = feature.properties, "cells" if unit == "cells" else f"{unit}\u00b2" if unit else "map units\u00b2"
    geometry = feature.geometry
    polygons = [geometry["coordinates"]] if geometry["type"] == "Polygon" else geometry["coordinates"]

    def text(name, form, suffix=""):
        return None if own.get(name) is None else f"{own[name]:{form}}{suffix}"

    attributes = {
        "id": f"{own['id']}",
        "level": f"{own['level']:g} {own['unit'] or ''}".rstrip(),
        "map": f"{own['map']}" if own["map"] else None,
        "part": text("part", "d"),
        "cells": text("cells", ",d"),
        "area of cells": text("cells_area", ",.6g", f" {square}"),
        "area of polygon": text("area", ",.6g", f" {square}"),
        "on the ellipsoid": _on_the_earth(own.get("area_km2")),
        "vertices": f"{count_vertices(geometry):,}",
        "holes": f"{sum(len(rings) - 1 for rings in polygons):,}",
    }
    return MapPart(own["label"], polygons, {name: value for name, value in attributes.items() if value is not None})


def _on_the_earth(area_km2):
    if area_km2 is None:
        return None
    return f"{area_km2:,.6g} km\u00b2" if area_km2 >= 0.1 else f"{area_km2 * 1e6:,.6g} m\u00b2"


def _checked_sites(sites):
    """Positions as pairs of finite floats."""
    try:
        places = np.asarray(list(sites) or np.empty((0, 2)), np.float64)
    except (TypeError, ValueError):
        places = np.empty(0)
    if places.ndim != 2 or places.shape[1] != 2 or not np.isfinite(places).all():
        raise wrong("sites", "a map page", "pairs (x, y) of finite numbers", short(sites))
    return [tuple(place) for place in places.tolist()]


def _frame(parts, grid, crs, names, sites):
    rows, columns = grid.shape
    corners = [grid.to_map([(0, 0), (0, rows), (columns, 0), (columns, rows)])]
    corners += [np.asarray(ring, np.float64) for part in parts for rings in part.polygons for ring in rings]
    corners += [np.array(sites)] if sites else []
    places = np.concatenate(corners)
    bounds = (*places.min(axis=0).tolist(), *places.max(axis=0).tolist())
    frame = {"axes": names, "sites": sites, "cell": math.sqrt(grid.cell_area)}
    frame["downwards"] = tuple(grid.transform) == IDENTITY
    if crs is None or not is_installed("pyproj"):
        return MapFrame(bounds, **frame)
    system = as_crs(crs, caller="to_html")
    factor = system.axis_info[0].unit_conversion_factor
    if system.is_geographic:
        latitude = (bounds[1] + bounds[3]) / 2 * factor
        return MapFrame(bounds, **frame, stretch=max(math.cos(latitude), 0.05), metres=factor * RADIAN)
    return MapFrame(bounds, **frame, metres=factor, lonlat=_lonlat(bounds, system))


def _axes(crs, grid):
    """For x and for y its name, the unit of its values, and the unit of distances."""
    if crs is None or not is_installed("pyproj"):
        names = ("column", "row") if tuple(grid.transform) == IDENTITY else ("x", "y")
        return tuple((name, "", "cells" if names[0] == "column" else "") for name in names)
    system = as_crs(crs, caller="to_html")
    unit = system.axis_info[0].unit_name
    unit = {"metre": "m", "degree": "\u00b0"}.get(unit, unit)
    names = ("longitude", "latitude") if system.is_geographic else ("easting", "northing")
    return tuple((name, unit, unit) for name in names)


def _system(crs):
    """A coordinate reference system in words."""
    if crs is None:
        return "no coordinate reference system"
    if is_installed("pyproj"):
        system = as_crs(crs, caller="to_html")
        code = system.to_string()
        return f"{system.name} ({code})" if len(code) <= 16 else shown(system.name).strip("'")
    return shown(crs).strip("'")


def _lonlat(bounds, system):
    """(longitudes, latitudes, right decimals) on a grid over the bounds; None where the system has none."""
    import pyproj

    try:
        to_earth = pyproj.Transformer.from_crs(system, "EPSG:4326", always_xy=True)
        found = None
        for count in GRIDS:
            x, y = (np.linspace(low, high, 2 * count - 1) for low, high in zip(bounds[:2], bounds[2:]))
            longitude, latitude = to_earth.transform(*np.meshgrid(x, y))
            if not (np.isfinite(longitude).all() and np.isfinite(latitude).all()):
                return None
            longitude = longitude[0, 0] + (longitude - longitude[0, 0] + 180) % 360 - 180  # across 180 degrees
            error = max(float(np.abs(_between(values) - values).max()) for values in (longitude, latitude))
            digits = min(max(math.floor(-math.log10(max(error, 1e-9))), 0), 8)
            found = (longitude[::2, ::2], latitude[::2, ::2], digits)
            if digits >= ENOUGH:
                break
        return found if found[2] >= 1 else None
    except pyproj.exceptions.ProjError:  # a local system
        return None


def _between(values):
    """Values at all positions, interpolated between every second row and column."""
    made = values.copy()
    made[1::2] = (made[:-1:2] + made[2::2]) / 2
    made[:, 1::2] = (made[:, :-1:2] + made[:, 2::2]) / 2
    return made
