"""How well regions stand for the cells that they cover: `measure` for any region, `compare` for several resolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from clgeom.core.host_floats import keeps_subnormals
from clgeom.intake.typing import FloatLike, IntLike
from clgeom.region.coverage.measures import Metrics, hull_of, measure
from clgeom.region.coverage.outlines import mask_polygons
from clgeom.region.coverage.rasters import covered_mask
from clgeom.region.coverage.regions import coverage_regions

__all__ = ["Metrics", "compare", "measure"]


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
