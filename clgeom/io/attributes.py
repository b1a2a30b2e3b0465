"""The values of coverage regions as columns of tables, and as attributes in files."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.geo.geodesy import areas_or_none
from clgeom.intake.interop.columns import column_of_counts
from clgeom.optional import is_installed

#: Colours from the first level to the last; more levels share them.
COLOURS = ("#d7301f", "#fc8d59", "#fdcc8a", "#74a9cf", "#2b8cbe", "#045a8d")


def columns_of(regions: Any) -> dict[str, Any]:
    """Return the values of regions: id (1, 2, ..), name, level, direction, map, part, cells, cells_area and area.

    Only maps with names have a column of them.

    Areas are in the square of the map's unit. Cells and their area are missing where they were not counted, and parts
    of regions that have none.
    """
    regions = list(regions)
    parts = [getattr(region, "part", None) for region in regions]
    return {
        "id": np.arange(1, len(regions) + 1),
        **names_of([getattr(region, "grid", None) for region in regions], [region.map for region in regions]),
        "level": np.array([region.level for region in regions], np.float64),
        "direction": np.array([region.direction for region in regions], object),
        "map": np.array([region.map for region in regions], np.int64),
        "part": column_of_counts(*parts) if None in parts else np.array(parts, np.int64),
        "cells": column_of_counts(*(region.cells for region in regions)),
        "cells_area": np.array(
            [np.nan if region.cells is None else region.cells * region.grid.cell_area for region in regions], np.float64
        ),
        "area": np.array([region.area for region in regions], np.float64),
    }


def names_of(grids: Any, maps: Any) -> dict[str, Any]:
    """Return the column of the names of maps, each with its grid; none if no grid has names."""
    found = [getattr(grid, "names", ()) for grid in grids]
    if not any(found):
        return {}
    return {"name": np.array([names[number] if names else None for names, number in zip(found, maps)], object)}


def attributes_of(regions: Any, *, unit: str | None, crs: Any, style: bool = False) -> dict[str, Any]:
    """Return the attributes of regions in files, as columns by name.

    The columns of `columns_of`; the level in words ("label") with its `unit`, and as "dbm" if that is dBm; "upto",
    the next level, for bands; "area_km2", the polygon's area on the ellipsoid, missing where it cannot be computed; and
    "segments" for outlines of segments.

    `regions` are those of a call, or a sequence of CoverageRegion, CoveragePolygon or Nested. An empty `unit` is null
    in files. `style` adds the colours of levels, by the simplestyle specification.
    """
    is_whole = hasattr(regions, "ragged_for_files")  # of a call, which has columns as arrays
    own = regions._columns() if is_whole else columns_of(regions)
    levels, each = own["level"], () if is_whole else list(regions)
    upto = np.full(len(levels), np.nan) if is_whole else _numbers(each, "upto")
    segments = [getattr(region, "segments", None) for region in each]
    if is_whole and hasattr(regions, "segments"):
        segments = regions.segments.tolist()
    found = own | ({"dbm": levels} if unit == "dBm" else {})
    found |= {} if np.isnan(upto).all() else {"upto": upto}
    found["unit"] = np.full(len(levels), unit or None, object)
    found["label"] = _labels(own["direction"], levels, upto, unit)
    found["area_km2"] = areas_in_km2(regions, crs)
    found |= {"segments": column_of_counts(*segments)} if set(segments) - {None} else {}
    return found | (style_of(levels, own["direction"]) if style else {})


def _numbers(regions: Any, name: str) -> np.ndarray:
    """Return an attribute that some regions have, as floats; NaN for the others."""
    return np.array([getattr(region, name, None) for region in regions], np.float64)  # None becomes NaN


def _labels(directions: Any, levels: Any, upto: Any, unit: str | None) -> np.ndarray:
    """Return the level of each region in words."""
    keys, made = list(zip(directions.tolist(), levels.tolist(), np.nan_to_num(upto, nan=np.inf).tolist())), {}
    for direction, level, to in set(keys):
        band = "" if to == np.inf else f" to {to:g}"
        made[direction, level, to] = f"{direction} {level:g}{band} {unit}".rstrip()
    return np.array([made[key] for key in keys], object)


def areas_in_km2(regions: Any, crs: Any) -> np.ndarray:
    """Return the areas of regions on the ellipsoid in km2; NaN for what cannot be computed."""
    if crs is None or not is_installed("pyproj"):
        return np.full(len(regions), np.nan)
    if hasattr(regions, "in_km2"):
        with contextlib.suppress(InvalidInput):  # the system cannot express one of them
            return regions.in_km2(crs)
        if hasattr(regions, "corners"):
            return np.full(len(regions), np.nan)
    return np.array(areas_or_none([region.__geo_interface__ for region in regions], crs), np.float64)


def style_of(levels: Any, directions: Any) -> dict[str, Any]:
    """Return the style of each region as columns: colours go evenly from the most demanding level to the last."""
    ordered = sorted(set(levels.tolist()), reverse=">=" in directions)
    steps = max(len(ordered) - 1, 1)
    colours = {level: COLOURS[round(i * (len(COLOURS) - 1) / steps)] for i, level in enumerate(ordered)}
    colour = np.array([colours[level] for level in levels.tolist()], object)
    numbers = {"fill-opacity": 0.35, "stroke-width": 1.5, "stroke-opacity": 0.9}
    made = {"fill": colour, "stroke": colour} | {name: np.full(len(levels), value) for name, value in numbers.items()}
    return {name: made[name] for name in ("fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity")}
