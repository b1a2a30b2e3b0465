"""Shapes of rising resolution over the covered cells of a map, for a figure that compares them."""

from __future__ import annotations

from typing import Any

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.intake.typing import FloatLike
from clgeom.region.coverage.measures import as_cells, hull_of, measure
from clgeom.region.coverage.outlines import mask_polygons
from clgeom.region.coverage.rasters import covered_mask, known_values
from clgeom.region.coverage.regions import raster_regions

#: Numbers of segments of the compared regions.
COMPARED = (8, 32, 128)


def comparison(
    raster: Any, level: FloatLike, *, direction: str = ">=", segments: tuple[int, ...] = COMPARED, device: Any = None
) -> tuple[np.ndarray, np.ndarray, list[tuple[str, list[Any]]]]:
    """Return the covered cells of a map, and shapes over them: their convex hull, and regions of rising resolution.

    Returns
    -------
    values : ndarray of float64, shape (rows, columns)
        NaN where they are not known.
    mask : ndarray of bool, shape (rows, columns)
    panels : list of (str, list)
        A title for each shape, with what it adds as a share of the cells' area, and its polygons as lists of rings.
    """
    nodata = getattr(raster, "nodata", None)
    mask = covered_mask(raster.values, level, direction=direction, nodata=nodata, caller="comparison")
    if not mask.any():
        raise InvalidInput(f"No cell is {direction} {level:g}: there is nothing to compare.")
    shapes, options = {"convex hull": hull_of(mask)}, {"device": device}
    for k in segments:
        shapes[f"{k} segments"] = raster_regions(mask, 1, segments=k, parts=False, **options)[0]
    large = max(mask.size // 2000, 1)
    shapes[f"{segments[-1]}, both axes, parts"] = raster_regions(
        mask, 1, segments=segments[-1], axis="both", holes=large, **options
    )
    panels, exact = [], mask_polygons(mask)
    for name, shape in shapes.items():
        found, shape = measure(shape, mask, hausdorff=False, polygons=exact), as_cells(shape)
        title = f"{name}\n{found.vertices:,} corners, +{found.superfluous_of_mask:.0%}, IoU {found.iou:.2f}"
        polygons = getattr(shape, "geoms", [shape])
        panels.append((title, [[np.asarray(r.coords) for r in (one.exterior, *one.interiors)] for one in polygons]))
    return known_values(raster.values, nodata), mask, panels
