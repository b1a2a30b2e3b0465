"""How well regions stand for the cells that they cover: `measure` for any region, `compare` for several resolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InvalidInput
from clgeom.intake.typing import FloatLike, IntLike
from clgeom.region.coverage.measures import Metrics, as_cells, hull_of, measure
from clgeom.region.coverage.outlines import mask_polygons
from clgeom.region.coverage.rasters import covered_mask, known_values
from clgeom.region.coverage.regions import coverage_regions, raster_regions

__all__ = ["Metrics", "compare", "measure"]

#: Numbers of segments of the compared regions.
COMPARED = (8, 32, 128)


@keeps_subnormals
def compare(
    raster: Any,
    level: FloatLike,
    *,
    segments: Sequence[IntLike] = (1, 4, 16, 64, 256),
    direction: Literal[">=", "<="] = ">=",
    **options: Any,
) -> list[dict[str, Any]]:
    """Metrics of a raster's convex hull and of its regions at several resolutions, a row each.

    Parameters
    ----------
    raster : array_like, shape (rows, columns)
        Masked cells, and those of `nodata`, are not covered.
    level : float
    segments : sequence of int
        Numbers of segments, one for each row after the first.
    direction : {">=", "<="}
        As for `coverage_regions`.
    **options
        As for `coverage_regions`.

    Returns
    -------
    list of dict
        Each has the name of the `shape` and the attributes of `Metrics`; the first is of the convex hull.

    Raises
    ------
    InvalidInput
        As for `coverage_regions`, or Shapely is not installed.

    Examples
    --------
    >>> from clgeom.region.metrics import compare
    >>> rows = compare([[9, 0, 0, 9], [9, 9, 0, 9]], 5, segments=[4])
    >>> [(row["shape"], row["area"], row["vertices"]) for row in rows]
    [('convex hull', 8.0, 4), ('4 segments', 5.5, 9)]
    """
    mask = covered_mask(raster, level, direction=direction, nodata=options.get("nodata"), caller="compare")
    exact = mask_polygons(mask)
    rows = [{"shape": "convex hull", **measure(hull_of(mask), mask, polygons=exact).asdict()}]
    for k in segments:
        found: Any = coverage_regions(raster, level, direction=direction, segments=k, **options)
        rows.append({"shape": f"{k} segments", **measure(found, mask, polygons=exact).asdict()})
    return rows


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
