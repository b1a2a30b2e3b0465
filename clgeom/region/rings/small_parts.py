"""Rasters without their small parts of covered cells: budgets, areas and counts are then those of what is kept.

    exact polygons of small parts -> their vertical edges in each row -> cells
    cells -> the value of the most demanding level at which they are kept, or one that reaches no level

A part at a level lies within a part at any less demanding one. So a cell whose part is too small at one level is left
out of all levels that demand more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from clgeom.intake.interop.rasters import Raster
from clgeom.intake.interop.strips import Strips
from clgeom.region.coverage.grid import as_grid
from clgeom.region.coverage.outlines import raster_outlines
from clgeom.region.coverage.rasters import Levels, as_levels, canonical_raster
from clgeom.region.rings.polygons import CoveragePolygons

CALLER = "region"


class SmallParts(NamedTuple):
    """Numbers of small parts at a level, and of their cells."""

    parts: int
    cells: int


def without_small_parts(
    raster: Raster,
    levels: Any,
    least: float,
    *,
    direction: Literal[">=", "<="],
    device: Any,
    joined: Literal["sides", "corners", "levels"] = "sides",
    report: Callable[[dict[float, SmallParts]], None] | None = None,
) -> Raster:
    """Return a raster whose covered cells are, at each level, those in parts of at least the area `least`.

    The area is in the square of the map's unit. Parts consist of cells that share "sides", or that touch at "corners"
    at least; or of all cells of a map and level. ``told(parts)`` is called with the small parts of each level. The
    nodata value of the raster is that of the result only if there are no small parts.
    """
    grid = as_grid(raster.transform, raster.crs, np.shape(raster.values)[-2:], caller=CALLER)
    exact = raster_outlines(raster, levels, direction=direction, device=device)
    parts = _parts(exact, joined)
    is_small = np.bincount(parts, exact.cells)[parts] < least / grid.cell_area
    small = exact.select(is_small)
    if report is not None:
        report(_count_small(small, parts[is_small]))
    if not len(small):
        return raster
    lowered = _Lowered(exact.given, direction, raster.nodata, grid.shape, *_cells(small))
    return replace(raster, values=lowered.of(raster.values), nodata=None)


def _parts(polygons: CoveragePolygons, joined: str) -> np.ndarray:
    """For each exact polygon the number of its part."""
    if joined == "sides":
        return np.arange(len(polygons))
    masks = polygons.maps * len(polygons.given) + polygons.levels
    return _joined_at_corners(polygons, masks) if joined == "corners" else masks


def _count_small(small: CoveragePolygons, parts: np.ndarray) -> dict[float, SmallParts]:
    """For each level the numbers of small parts and of their cells."""
    found = {}
    for number, level in enumerate(small.given):
        own = small.levels == number
        found[level] = SmallParts(len(np.unique(parts[own])), int(small.cells[own].sum()))
    return found


def _joined_at_corners(polygons: CoveragePolygons, masks: np.ndarray) -> np.ndarray:
    """For each exact polygon the first one of its part: polygons of a mask touch where they have a vertex in common."""
    sizes = np.diff(polygons.ring_offsets[polygons.polygon_offsets])
    owner = np.repeat(np.arange(len(polygons)), sizes)
    x, y = polygons.corners.T
    order = np.lexsort((x, y, masks[owner]))
    places = np.stack([masks[owner], y, x])[:, order]
    same = np.flatnonzero((places[:, 1:] == places[:, :-1]).all(axis=0))
    one, other = owner[order[same]], owner[order[same + 1]]
    root = np.arange(len(polygons))
    while True:  # trees grow together, and become flat
        low, high = np.minimum(root[one], root[other]), np.maximum(root[one], root[other])
        if (low == high).all():
            return root
        np.minimum.at(root, high, low)
        while (root[root] != root).any():
            root = root[root]


def _cells(polygons: CoveragePolygons) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells of exact polygons, by their index in the stack, and the least rank of a level for each.

    Ranks of levels ascend with what they demand.
    """
    rows, columns = polygons.grid.shape
    rings = polygons.ring_offsets
    x, y = polygons.corners.T.astype(np.int64)
    after = np.arange(1, len(x) + 1)
    after[rings[1:] - 1] = rings[:-1]
    upright = np.flatnonzero(x == x[after])
    heights = np.abs(y[after] - y)[upright]
    owner = np.repeat(np.repeat(np.arange(len(polygons)), np.diff(polygons.polygon_offsets)), np.diff(rings))
    owner, column = np.repeat(owner[upright], heights), np.repeat(x[upright], heights)
    row = _counted_from(np.minimum(y, y[after])[upright], heights)
    order = np.lexsort((column, row, owner))  # in a row of a part edges are by turns on the left and the right of cells
    begin, end = order[0::2], order[1::2]
    widths = column[end] - column[begin]
    firsts = (polygons.maps[owner[begin]] * rows + row[begin]) * columns + column[begin]
    cells = _counted_from(firsts, widths)
    sign = 1 if polygons.direction == ">=" else -1
    ranks = np.argsort(np.argsort(sign * np.array(polygons.given)))
    ranks = np.repeat(ranks[polygons.levels[owner[begin]]], widths)
    order = np.lexsort((ranks, cells))
    cells, ranks = cells[order], ranks[order]
    fresh = np.append(True, cells[1:] != cells[:-1])
    return cells[fresh], ranks[fresh]


def _counted_from(firsts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """So many consecutive numbers from each of the first ones on."""
    before = np.cumsum(counts) - counts
    return np.asarray(np.arange(counts.sum()) + np.repeat(firsts - before, counts))


@dataclass(frozen=True, eq=False)
class _Lowered:
    """Values of a raster, changed so that `cells`, which ascend, reach only the levels below their `ranks`."""

    given: tuple[float, ...]
    direction: Literal[">=", "<="]
    nodata: Any
    shape: tuple[int, int]  # rows and columns of a map
    cells: np.ndarray
    ranks: np.ndarray

    def of(self, values: Any) -> Any:
        """Return the values of the whole raster."""
        if not isinstance(values, Strips):
            return self._changed(values, self.cells, self.ranks)
        if not values.plain:
            return replace(values, window=self._window(values))
        dtype = canonical_raster(np.zeros((1, 1), values.dtype), caller=CALLER).dtype
        plain = self._absent(dtype) is not None
        return replace(values, window=self._window(values), dtype=dtype, plain=plain)

    def _window(self, strips: Strips) -> Callable[[int, int, int, int], np.ndarray]:
        """Return the function that reads a part of a raster in strips, and changes it."""

        def window(row: int, column: int, rows: int, columns: int) -> np.ndarray:
            own = slice(*np.searchsorted(self.cells, [row * self.shape[1], (row + rows) * self.shape[1]]))
            down, across = np.divmod(self.cells[own], self.shape[1])
            inside = (across >= column) & (across < column + columns)
            cells = (down[inside] - row) * columns + across[inside] - column
            return self._changed(strips.window(row, column, rows, columns), cells, self.ranks[own][inside])

        return window

    def _levels(self, dtype: np.dtype[Any]) -> tuple[Levels, np.ndarray]:
        """Return the levels for values of a type, and their thresholds by rank."""
        found = as_levels(self.given, self.direction, self.nodata, dtype, caller=CALLER)
        return found, np.sort(found.thresholds)[:: -1 if found.below else 1]

    def _absent(self, dtype: np.dtype[Any]) -> Any:
        """Return a value of a type that reaches no level; None if there is none."""
        if dtype.kind == "f":
            return np.nan
        levels, thresholds = self._levels(dtype)
        value = np.iinfo(dtype).max if levels.below else np.iinfo(dtype).min
        return value if (value > thresholds[0] if levels.below else value < thresholds[0]) else None

    def _changed(self, values: np.ndarray, cells: np.ndarray, ranks: np.ndarray) -> np.ndarray:
        """Return the values where some cells, by their index, have that of the level before their rank, or none."""
        array = canonical_raster(np.ma.getdata(values), caller=CALLER)
        levels, thresholds = self._levels(array.dtype)
        hidden = np.ma.getmaskarray(values).reshape(array.shape).copy()
        if levels.nodata is not None:
            hidden |= array == levels.nodata
        hidden.reshape(-1)[cells[ranks == 0]] = True
        made, kept = array.copy(), ranks > 0
        if array.dtype.kind != "f":  # no cell reaches a level beyond these
            info = np.iinfo(array.dtype)
            thresholds = np.clip(thresholds, info.min, info.max)
        made.reshape(-1)[cells[kept]] = thresholds[ranks[kept] - 1].astype(array.dtype)
        absent = self._absent(array.dtype)
        if absent is None:
            return np.ma.masked_array(made, hidden).reshape(np.shape(values))
        made[hidden] = absent
        return made.reshape(np.shape(values))
