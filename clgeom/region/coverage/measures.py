"""How well a region stands for the cells it is of: superfluous and missed area, overlap, distance, vertices.

All areas are in cells. What overlaps is measured by Shapely on the exact boundaries of the cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, overload

import numpy as np

from clgeom.arguments import has_type, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.optional import require, require_shapely
from clgeom.region.coverage.bands import Nested
from clgeom.region.coverage.outlines import mask_polygons
from clgeom.region.coverage.rasters import Levels, Stack
from clgeom.region.coverage.result import CoverageRegion, CoverageRegions
from clgeom.region.rings.polygons import CoveragePolygon, CoveragePolygons

#: Columns that are summed over maps.
SUMMED = ("regions", "vertices", "area", "cells_area", "superfluous", "missed")


@keeps_subnormals
@dataclass(frozen=True)
class Metrics:
    """Metrics of a region and its mask, in cells and as shares: the result of `measure`.

    Parameters
    ----------
    area, mask_area : float
        Of the region, and of the cells it should cover.
    superfluous : float
        Area of the region that is no cell of the mask.
    superfluous_of_mask, superfluous_of_map : float
        The same as a share of the mask's area and of the whole map's.
    missed : float
        Area of the mask that the region does not cover.
    missed_of_mask : float
    iou : float
        Area of the intersection over that of the union; 1 for equal sets.
    hausdorff : float
        Largest distance from a vertex of one boundary to the other boundary, in cells; NaN where one is empty.
    vertices : int

    Examples
    --------
    >>> import clgeom, numpy as np
    >>> from clgeom.region.metrics import measure
    >>> raster = np.array([[9, 0, 0, 9], [9, 9, 0, 9]])
    >>> found = measure(clgeom.raster_regions(raster, 5), raster >= 5)
    >>> found.superfluous, found.missed, found.asdict()["vertices"]
    (0.5, 0.0, 9)
    """

    area: float
    mask_area: float
    superfluous: float
    superfluous_of_mask: float
    superfluous_of_map: float
    missed: float
    missed_of_mask: float
    iou: float
    hausdorff: float
    vertices: int

    def asdict(self) -> dict[str, Any]:
        """Return the figures as plain values.

        Returns
        -------
        dict
            By the names of the attributes.
        """
        return asdict(self)


@keeps_subnormals
def measure(region: Any, mask: Any, *, hausdorff: bool = True, polygons: Any = None) -> Metrics:
    """Compare a region with the cells that it should cover.

    Parameters
    ----------
    region : CoverageRegion, CoveragePolygon, Nested, Region, Hull or Shapely geometry, or a sequence of them
        Coordinates of all but the first three are columns and rows. Several count together, their overlaps once.
    mask : array_like of bool, shape (rows, columns)
        The cells that should be covered: ``covered_mask(raster, level)`` of `clgeom.region.coverage.rasters`, which
        compares as the kernels do.
    hausdorff : bool
        Measure the distance, too, which takes longest.
    polygons : shapely geometry, optional
        The mask's exact boundary, ``mask_polygons(mask)`` of `clgeom.region.coverage.outlines`, if it is at hand.

    Returns
    -------
    Metrics

    Raises
    ------
    InvalidInput
        The mask is not of bools or not of the raster's shape, `region` holds other than regions and geometries, or
        Shapely is not installed.

    Examples
    --------
    >>> import clgeom, numpy as np
    >>> from clgeom.region.metrics import measure
    >>> raster = np.array([[9, 0, 0, 9], [9, 9, 0, 9]])
    >>> round(measure(clgeom.raster_regions(raster, 5), raster >= 5).iou, 3)
    0.909
    """
    shapely = require_shapely()
    mask = np.asarray(mask)
    has_type(mask, "b", "bool", "mask", caller="measure", shape=("rows", "columns"))
    _check_grids(region, mask.shape)
    shape = as_cells(region)
    exact = mask_polygons(mask) if polygons is None else polygons
    area, mask_area = shape.area, float(np.count_nonzero(mask))
    missed = exact.difference(shape).area if mask_area else 0.0
    superfluous = max(area - (mask_area - missed), 0.0)
    both = area + missed
    distance = float("nan")
    if hausdorff and not shape.is_empty and mask_area:
        distance = max(_farthest(shape, exact, shapely), _farthest(exact, shape, shapely))
    return Metrics(
        area=area,
        mask_area=mask_area,
        superfluous=superfluous,
        superfluous_of_mask=_share(superfluous, mask_area),
        superfluous_of_map=superfluous / mask.size if mask.size else 0.0,
        missed=missed,
        missed_of_mask=_share(missed, mask_area),
        iou=(mask_area - missed) / both if both else 1.0,
        hausdorff=distance,
        vertices=int(shapely.get_num_coordinates(shape)) - _rings(shape),
    )


def _check_grids(region: Any, shape: Any) -> None:
    """Refuse regions of rasters of another shape than the mask's."""
    if isinstance(region, (CoverageRegion, CoveragePolygon, CoveragePolygons, Nested)):
        if tuple(region.grid.shape) != shape:
            raise wrong("mask", "measure", f"the shape of the region's raster, {region.grid.shape}", shape, verb="have")
    elif isinstance(region, Sequence) and not isinstance(region, str):
        for one in region:
            _check_grids(one, shape)


def _farthest(shape: Any, other: Any, shapely: Any) -> float:
    """Largest distance from a vertex of one boundary to the other boundary, found in a tree of its edges."""
    edges = []
    for ring in shapely.get_rings(shapely.get_parts(other)):
        at = shapely.get_coordinates(ring)
        edges.append(np.stack([at[:-1], at[1:]], axis=1))
    tree = shapely.STRtree(shapely.linestrings(np.concatenate(edges)))
    vertices = shapely.points(np.unique(shapely.get_coordinates(shape), axis=0))
    return float(tree.query_nearest(vertices, return_distance=True, all_matches=False)[1].max())


def _share(part: float, whole: float) -> float:
    """part / whole; what is superfluous to nothing is infinitely much."""
    return part / whole if whole else float("inf") if part else 0.0


def _rings(shape: Any) -> int:
    """Return how many rings a geometry has; each repeats its first vertex."""
    parts = [part for part in getattr(shape, "geoms", [shape]) if part.geom_type == "Polygon"]
    return sum(1 + len(part.interiors) for part in parts if not part.is_empty)


def as_cells(region: Any) -> Any:
    """Return a region, or several, as one Shapely geometry in columns and rows."""
    shapely = require_shapely()
    if isinstance(region, (CoverageRegion, CoveragePolygon)):
        return region.to_shapely(cells=True)
    if isinstance(region, CoveragePolygons):
        return shapely.union_all(region.to_shapely(cells=True))
    if isinstance(region, Nested):
        return shapely.transform(region.to_shapely(), region.grid.to_cells)
    if hasattr(region, "geom_type"):
        return region
    if hasattr(region, "to_shapely") and not isinstance(region, Sequence):
        return region.to_shapely()
    if not np.iterable(region) or isinstance(region, str):
        raise wrong("region", "measure", "regions or geometries", type(region).__name__)
    return shapely.union_all([as_cells(one) for one in region])


def hull_of(mask: Any) -> Any:
    """Return the convex hull of a mask's cells as a Shapely geometry in columns and rows: what regions are compared
    with.
    """
    from clgeom.hull.convex import convex_hull

    mask = np.asarray(mask, bool)
    columns = np.flatnonzero(mask.any(axis=0))
    first, last = mask[:, columns].argmax(axis=0), mask.shape[0] - mask[::-1, columns].argmax(axis=0)
    corners = [(columns + side, row) for side in (0, 1) for row in (first, last)]
    points = np.concatenate([np.stack(corner, axis=1) for corner in corners]).astype(np.float64)
    return convex_hull(points).to_shapely()


@keeps_subnormals
class CoverageResolutions(Sequence[CoverageRegions]):
    """The regions of a raster for several numbers of segments, in the order of `segments`.

    Attributes
    ----------
    segments : tuple of int

    Examples
    --------
    >>> import clgeom, numpy as np
    >>> raster = np.array([[9, 0, 0, 9], [9, 9, 0, 9]])
    >>> found = clgeom.raster_regions(raster, 5, segments=[1, 8], parts=False)
    >>> [(row["segments"], row["area"], row["missed"], row["iou"]) for row in found.table()]
    [(1, 8.0, 0.0, 0.625), (8, 7.0, 0.0, 0.7142857142857143)]
    """

    segments: tuple[int, ...]

    def __init__(self, found: list[CoverageRegions], segments: tuple[int, ...], stack: Stack, levels: Levels) -> None:
        self._found, self.segments, self._stack, self._levels = found, segments, stack, levels

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, index: int) -> CoverageRegions: ...
    @overload
    def __getitem__(self, index: slice) -> list[CoverageRegions]: ...
    def __getitem__(self, index: int | slice) -> CoverageRegions | list[CoverageRegions]:
        return self._found[index]

    def __repr__(self) -> str:
        return f"CoverageResolutions({', '.join(map(str, self.segments))} segments: {self._found[0]!r})"

    def table(self) -> list[dict[str, Any]]:
        """Metrics for each number of segments and level, measured on the cells of all maps with Shapely.

        Returns
        -------
        list of dict
            `segments`, `level`, `regions`, `vertices`; `area`, `cells_area`, and the `superfluous` and `missed` area,
            in the square of the map's unit; `iou`, the area of the intersection over that of the union. Regions of one
            map and level that overlap count once.
        """
        grid = self._found[0].grid
        rows: dict[tuple[int, int], dict[str, Any]] = {}
        for number in range(self._stack.maps):
            for k, level in enumerate(self._levels.given):
                mask = self._levels.mask(self._stack.map(number), k)
                exact = mask_polygons(mask)
                for segments, found in zip(self.segments, self._found):
                    own = [found[i] for i in np.flatnonzero((found.maps == number) & (found.levels == k)).tolist()]
                    one = measure(own, mask, hausdorff=False, polygons=exact)
                    row = rows.setdefault((segments, k), dict.fromkeys(SUMMED, 0) | {"level": level})
                    row["regions"] += sum(map(bool, own))
                    row["vertices"] += sum(map(len, own))
                    for name, value in zip(SUMMED[2:], (one.area, one.mask_area, one.superfluous, one.missed)):
                        row[name] += value * grid.cell_area
        made = []
        for segments in self.segments:
            for k in range(len(self._levels.given)):
                row = rows[segments, k]
                union = row["area"] + row["missed"]
                iou = (row["cells_area"] - row["missed"]) / union if union else 1.0
                made.append({"segments": segments, "level": row.pop("level"), **row, "iou": iou})
        return made

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            A row for each of `table`.

        Raises
        ------
        InvalidInput
            pandas or Shapely is not installed.
        """
        require("pandas", "to_pandas")
        import pandas

        return pandas.DataFrame(self.table())
