"""A self-contained HTML page with a map of coverage regions, or of polygons of classes: it pans, zooms, shows and hides
levels, and tells the attributes of a part.

Polygons are in the page as whole numbers of a small step, each vertex relative to the one before; its script draws
them. A Content-Security-Policy in the page forbids it to load anything from a network.
"""

from __future__ import annotations

import base64
import io
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np

from clgeom.arguments import instance, wrong
from clgeom.core.messages import counted
from clgeom.errors import InvalidInput, short
from clgeom.geo.geodesy import as_crs, shown
from clgeom.intake.typing import NDArray
from clgeom.io.atomic import check_output, replacing
from clgeom.io.attributes import areas_in_km2
from clgeom.io.classes import class_features
from clgeom.io.features import count_vertices, features_of
from clgeom.optional import is_installed, require_matplotlib
from clgeom.plotting.coverage import VALUES
from clgeom.plotting.figures import line_colours
from clgeom.plotting.html import PAGE_FORMATS, filled, script_data, template

TEMPLATE = "map.html"
#: Longest side of the image of a raster, in pixels, and number of its colours.
LONGEST, SHADES = 1024, 64
#: Steps of coordinates in a cell.
STEPS = 256
#: Largest coordinate in steps: sums of such numbers are exact in JavaScript.
MOST_STEPS = 2.0**50
#: Sizes of grids for longitude and latitude, and the decimals of degrees that are enough: 0.1 m.
GRIDS, ENOUGH = (5, 9, 17, 33, 65), 6
#: The transform of a raster without a position.
IDENTITY = (1, 0, 0, 0, 1, 0)
#: Length of a radian on the earth in metres.
RADIAN = 6_371_008.8
#: The name of an axis, the unit of its values, and the unit of distances.
Axis = tuple[str, str, str]


@dataclass(frozen=True, eq=False)
class MapPart:
    """A shape of a map page: the rings of its polygons, outer ones first, and its attributes as texts."""

    level: str  #: label; parts of one level have one colour
    polygons: Sequence[Sequence[Any]]
    attributes: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class MapFrame:
    """The limits, axes and positions around the shapes of a map page."""

    bounds: tuple[float, float, float, float]  #: least x and y, greatest x and y of the page, in map coordinates
    cell: float = 1.0  #: side of a cell; positions are rounded to `STEPS` parts of it
    axes: tuple[Axis, ...] = (("x", "", ""), ("y", "", ""))
    downwards: bool = False  #: whether y counts downwards, as rows do
    stretch: float = 1.0  #: of x on the screen: the cosine of the latitude for longitudes
    metres: float | None = None  #: length of a unit of y, for the scale bar
    #: Longitudes and latitudes on a grid of k x k positions over the bounds, the first row at least y, and the number
    #: of decimals to which values interpolated between them are right.
    lonlat: tuple[Any, Any, int] | None = None
    sites: Sequence[tuple[float, float]] = ()


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
    """Write regions, or polygons of classes, to an .html file, over the `values` of a raster, which need Matplotlib.

    `transform` leads from columns and rows of `values`, which may be few of the raster's cells, to map coordinates;
    `label` is the raster's name in the legend, `unit` that of the levels; `sites` are positions of transmitters.
    """
    for name, value in (("unit", unit), ("title", title or "")):
        instance(value, str, "text", name, caller="a map page")
    sites = _checked_sites(sites)
    check_output(path, PAGE_FORMATS)
    ordered = [region for region in regions if region]
    if not ordered:
        raise InvalidInput("A map page needs a region that is not empty.")
    grid = ordered[0].grid
    if hasattr(ordered[0], "level"):
        ordered.sort(key=lambda region: -region.level if region.direction == ">=" else region.level)
        features, kind = features_of(ordered, unit=unit), "levels"
        levels = ", ".join(f"{level:g}" for level in dict.fromkeys(region.level for region in ordered))
        usual = f"Coverage {ordered[0].direction} {levels} {unit}".rstrip()
    else:
        features, kind = class_features(ordered, areas_in_km2(regions, grid.crs)), "classes"
        usual = counted(len({one.value for one in ordered}), "class", "classes")
    system = as_crs(grid.crs, caller="to_html") if grid.crs is not None and is_installed("pyproj") else None
    axes = _axes(system, grid)
    parts = [_part(feature, axes[1][2]) for feature in features]
    frame = _frame(parts, grid, system, axes, sites)
    picture = None if values is None else _image(values, transform, label=label, unit=unit)
    maps = len({id(one.grid) for one in ordered})
    where = f"{maps:,} rasters" if maps > 1 else "{:,} x {:,} cells".format(*grid.shape)
    words = f"{counted(len(parts), 'part', 'parts')} of {where}, {_system(grid.crs, system)}."
    text = map_text(parts, frame, title=usual if title is None else title, words=words, image=picture, kind=kind)
    with replacing(path) as file:
        file.write(text.encode())


def _part(feature: Any, unit: str) -> MapPart:
    """Return a feature as a part of the page, with readable names of its attributes."""
    values, square = (
        feature["properties"],
        "cells" if unit == "cells" else f"{unit}\u00b2" if unit else "map units\u00b2",
    )
    geometry = feature["geometry"]
    polygons = [geometry["coordinates"]] if geometry["type"] == "Polygon" else geometry["coordinates"]

    def text(name: str, form: str, suffix: str = "") -> str | None:
        return None if values.get(name) is None else f"{values[name]:{form}}{suffix}"

    def area(name: str, suffix: str) -> str | None:
        return text(name, ",.0f" if (values.get(name) or 0) >= 1e6 else ",.6g", f" {suffix}")

    area_km2 = values.get("area_km2")
    attributes = {
        "id": f"{values['id']}",
        "name": values.get("name"),
        "class": text("class", "d"),
        "level": text("level", "g", f" {values.get('unit') or ''}".rstrip()),
        "map": f"{values['map']}" if values["map"] else None,
        "part": text("part", "d"),
        "cells": text("cells", ",d"),
        "area of cells": area("cells_area", square),
        "area of polygon": area("area", square),
        "on the ellipsoid": area("area_km2", "km\u00b2"),
        "vertices": f"{count_vertices(geometry):,}",
        "holes": f"{sum(len(rings) - 1 for rings in polygons):,}",
    }
    if area_km2 is not None and area_km2 < 0.1:
        attributes["on the ellipsoid"] = f"{area_km2 * 1e6:,.6g} m\u00b2"
    label = ", ".join(values[name] for name in ("name", "label") if values.get(name) is not None)
    return MapPart(label, polygons, {name: value for name, value in attributes.items() if value is not None})


def _checked_sites(sites: Sequence[Any]) -> list[tuple[float, float]]:
    """Return the positions as pairs of finite floats."""
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
    """Return the frame of a page that shows all parts, all cells and all transmitters."""
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
    """Return a coordinate reference system in words."""
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
    """Return the values at all positions, interpolated between every second row and column."""
    out = values.copy()
    out[1::2] = (out[:-1:2] + out[2::2]) / 2
    out[:, 1::2] = (out[:, :-1:2] + out[:, 2::2]) / 2
    return out


def thinned(shape: tuple[int, int], transform: Sequence[float]) -> tuple[int, tuple[float, ...]]:
    """Return a step k so that every k-th row and column are at most `LONGEST`, and the transform of these cells."""
    k = -(-max(shape) // LONGEST)
    a, b, c, d, e, f = transform
    return k, (a * k, b * k, c, d * k, e * k, f)


def map_text(
    parts: Sequence[MapPart],
    frame: MapFrame,
    *,
    title: str,
    words: str = "",
    image: dict[str, Any] | None = None,
    kind: str = "levels",
) -> str:
    """Return a map page with levels in the order of their first part; `title` and `words` are plain texts.

    `kind` is the word for the levels.
    """
    if not parts:
        raise InvalidInput("A map page needs at least one part.")
    labels = {label: k for k, label in enumerate(dict.fromkeys(part.level for part in parts))}
    counts = Counter(part.level for part in parts)
    colours = line_colours(len(labels))
    low, high = np.array(frame.bounds[:2], np.float64), np.array(frame.bounds[2:], np.float64)
    step = frame.cell / STEPS
    if not np.isfinite(high - low).all() or (high - low).max() / step > MOST_STEPS:
        raise InvalidInput("Coordinates beyond 2**42 cells cannot be shown in a map page; scale them first.")
    data: dict[str, Any] = {
        "origin": low.tolist(),
        "bounds": list(map(float, frame.bounds)),
        "step": step,
        "cell": frame.cell,
        "stretch": frame.stretch,
        "up": -1 if frame.downwards else 1,
        "metres": frame.metres,
        "unit": frame.axes[1][2],
        "axes": [[name, f" {unit}" if unit[:1].isalpha() else unit] for name, unit, _ in frame.axes],
        "lonlat": None,
        "sites": [list(map(float, site)) for site in frame.sites],
        "opacity": 0.22 if kind == "levels" else 0.55,  # levels lie on each other
        "levels": [
            {"label": label, "colour": colours[k], "words": counted(counts[label], "part", "parts")}
            for label, k in labels.items()
        ],
        "features": [
            [
                labels[part.level],
                [_code(ring, low, step, hole=k > 0) for rings in part.polygons for k, ring in enumerate(rings)],
                list(part.attributes.items()),
            ]
            for part in parts
        ],
        "image": image,
    }
    if frame.lonlat is not None:
        longitude, latitude, digits = frame.lonlat
        rounded = [np.round(values, 9).ravel().tolist() for values in (longitude, latitude)]
        data["lonlat"] = dict(zip(("longitude", "latitude"), rounded)) | {"count": len(longitude), "digits": digits}
    texts = {"title": escape(title), "words": escape(words), "kind": kind, "heading": kind.capitalize()}
    return filled(template(TEMPLATE), {**texts, "data": script_data(data)})


def _code(ring: Any, origin: NDArray[np.float64], step: float, *, hole: bool) -> Any:
    """Return a ring as steps from the origin, then differences: counter-clockwise, or clockwise for a hole."""
    places = np.rint((np.asarray(ring, np.float64) - origin) / step).astype(np.int64)
    moved = (places[1:] != places[:-1]).any(axis=1)
    if not moved.all():
        places = places[np.append(True, moved)]
    if len(places) > 1 and (places[0] == places[-1]).all():
        places = places[:-1]
    x, y = (places - places[0]).astype(np.float64).T
    if ((x[:-1] * y[1:] - x[1:] * y[:-1]).sum() < 0) != hole:  # the first place is 0
        places = places[::-1]
    return np.diff(places, axis=0, prepend=0).ravel().tolist()


def _image(values: Any, transform: Sequence[float], *, label: str, unit: str) -> dict[str, Any] | None:
    """Return a raster of at most `LONGEST` rows and columns as an image for the page; None if no value is finite."""
    require_matplotlib()
    from matplotlib import colormaps
    from PIL import Image

    values = np.asarray(values, np.float64)
    known = np.isfinite(values)
    if not known.any():
        return None
    low, high = values[known].min(), values[known].max()
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        share = np.nan_to_num((values - low) / (high - low), nan=0.0, posinf=0.0)
    numbers = np.where(known, 1 + np.round(share * (SHADES - 1)), 0).astype(np.uint8)
    colours = np.round(255 * colormaps[VALUES](np.linspace(0, 1, SHADES))[:, :3]).astype(np.uint8)
    picture = Image.fromarray(numbers, "P")
    picture.putpalette(np.concatenate([[[255, 255, 255]], colours]).astype(np.uint8).tobytes())
    file = io.BytesIO()
    picture.save(file, "PNG", transparency=0, optimize=True)
    ramp = [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in colours[:: (SHADES - 1) // 9].tolist()]
    return {
        "data": "data:image/png;base64," + base64.b64encode(file.getvalue()).decode(),
        "transform": [float(number) for number in transform],
        "label": label,
        "colours": ramp,
        "ends": [f"{low:.4g} {unit}".strip(), f"{high:.4g} {unit}".strip()],
    }
