"""Positions of rasters: the transform from columns and rows to map coordinates, and areas of cells on the earth."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clgeom.arguments import wrong
from clgeom.errors import short
from clgeom.geo.geodesy import Earth, as_crs, is_plain_geographic, plain_area, shown
from clgeom.intake.typing import ArrayLike, NDArray

IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
#: Largest distance of corners of two rasters of the same cells, in cells: files round transforms and coordinates.
APART = 0.1
#: Nodes along each axis between which the area of a cell is interpolated, and of places all over a raster.
NODES = 33


@dataclass(frozen=True)
class Grid:
    """Position of a raster: pixel corner (column, row) at ``x = a column + b row + c, y = d column + e row + f``.

    `unit` is the unit of the values, and `names` are those of the maps, where the raster came with them.
    """

    transform: tuple[float, ...]
    crs: Any
    shape: tuple[int, int]
    unit: str | None = None
    names: tuple[str, ...] = ()

    @property
    def determinant(self) -> float:
        a, b, _, d, e, _ = self.transform
        return a * e - b * d

    @property
    def cell_area(self) -> float:
        return abs(self.determinant)

    @property
    def corners(self) -> NDArray[np.int64]:
        """The corners of the raster in columns and rows."""
        rows, columns = self.shape
        return np.array([(0, 0), (0, rows), (columns, 0), (columns, rows)], np.int64)

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """The least x and y, and the greatest x and y, in map coordinates."""
        x, y = self.to_map(self.corners).T
        return float(x.min()), float(y.min()), float(x.max()), float(y.max())

    @property
    def centre(self) -> tuple[float, float]:
        """The middle of the raster in map coordinates."""
        rows, columns = self.shape
        x, y = self.to_map([(columns / 2, rows / 2)])[0].tolist()
        return x, y

    def spread(self) -> NDArray[np.float64]:
        """Return places all over the raster in map coordinates: `NODES` along each axis."""
        rows, columns = self.shape
        places = np.meshgrid(np.linspace(0, columns, NODES), np.linspace(0, rows, NODES))
        return self.to_map(np.stack([axis.ravel() for axis in places], axis=1))

    @property
    def extent(self) -> str:
        """The bounds in words."""
        left, bottom, right, top = self.bounds
        return f"x {left:.10g} to {right:.10g}, y {bottom:.10g} to {top:.10g}"

    def to_map(self, corners: ArrayLike) -> NDArray[np.float64]:
        """Map coordinates of columns and rows, shape (n, 2)."""
        a, b, c, d, e, f = self.transform
        x, y = np.asarray(corners, np.float64).T
        if b == 0 and d == 0:
            return np.stack([a * x + c, e * y + f], axis=1)
        return np.stack([a * x + b * y + c, d * x + e * y + f], axis=1)

    def to_cells(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return the columns and rows of map coordinates, shape (n, 2)."""
        if self.transform == IDENTITY:
            return np.asarray(points, np.float64)
        a, b, c, d, e, f = self.transform
        x, y = (np.asarray(points, np.float64) - (c, f)).T
        if b == 0 and d == 0:
            return np.stack([x / a, y / e], axis=1)
        return np.stack([e * x - b * y, a * y - d * x], axis=1) / self.determinant

    def has_place(self, transform: Sequence[float] | None, *, caller: str) -> bool:
        """Return whether a transform puts the raster where it is; None puts it anywhere."""
        if transform is None:
            return True
        there = as_grid(transform, None, self.shape, caller=caller).to_map(self.corners)
        return bool(np.abs(self.to_cells(there) - self.corners).max() <= APART)


def as_grid(transform: Any, crs: Any, shape: tuple[int, int], *, caller: str, unit: str | None = None) -> Grid:
    """Return the `transform` and `crs` parameters of a public function, and the unit of the values.

    A system without a transform is refused: columns and rows are nowhere on the earth.
    """
    if transform is None:
        if crs is not None:
            raise wrong("transform", caller, f"the raster in {shown(crs)}", "None", verb="place")
        return Grid(IDENTITY, crs, shape, unit)
    try:
        numbers = tuple(float(number) for number in tuple(transform))
    except (TypeError, ValueError):
        numbers = ()
    if len(numbers) == 9 and numbers[6:] == (0, 0, 1):  # affine.Affine
        numbers = numbers[:6]
    grid = Grid(numbers, crs, shape, unit)
    if len(numbers) != 6 or not all(map(math.isfinite, numbers)) or grid.determinant == 0:
        raise wrong(
            "transform", caller, "6 finite numbers a, b, c, d, e, f with a e - b d other than 0", shown(transform, 200)
        )
    if not _are_told_apart(numbers, shape):
        raise wrong(
            "transform",
            caller,
            "cells at coordinates that float64 holds and tells apart",
            f"{shown(transform, 200)} for {shape[0]:,} x {shape[1]:,} cells",
            verb="put",
        )
    return grid


def with_names(grid: Grid, names: Any, maps: int, *, caller: str, name: str = "raster") -> Grid:
    """Return a grid with the `names` of the maps of a raster, if it has some."""
    if not names:
        return grid
    if isinstance(names, str) or len(names) != maps:
        raise wrong(name, caller, f"a name for each of its {maps:,} maps", short(names), verb="have")
    return replace(grid, names=tuple(map(str, names)))


@functools.lru_cache(maxsize=64)
def _are_told_apart(transform: tuple[float, ...], shape: tuple[int, int]) -> bool:
    """Return whether float64 holds and tells apart the coordinates of cells; calls on the same grid often follow."""
    grid = Grid(transform, None, shape)
    corners = grid.to_map(grid.corners)
    sides = np.linalg.svd(np.array(transform).reshape(2, 3)[:, :2], compute_uv=False)
    with np.errstate(invalid="ignore", over="ignore"):
        told_apart = 16 * np.spacing(np.abs(corners).max()) < sides[1]
    return bool(np.isfinite(corners).all() and math.isfinite(grid.determinant) and told_apart)


def cells_area(mask: np.ndarray, grid: Grid, *, caller: str = "cells_area") -> float:
    """Return the area of the cells of a mask on the ellipsoid of the grid's reference system, in m2.

    In a geographic system with rows along parallels, all cells of a row have the same area, and the area is computed
    for each row. In other systems it changes slowly from cell to cell: it is computed for 33 by 33 cells, and
    interpolated by polynomials.
    """
    system = as_crs(grid.crs, caller=caller)
    rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    if not len(rows):
        return 0.0
    (top, bottom), (left, right) = ((at[0], at[-1] + 1) for at in (rows, columns))
    mask = mask[top:bottom, left:right]
    if system.is_engineering or system.ellipsoid is None:
        return np.count_nonzero(mask) * plain_area(_cell(grid, left, top), system)
    earth, (_, b, _, d, _, _) = Earth(system, caller), grid.transform
    if is_plain_geographic(system) and b == d == 0:
        areas = _areas(earth, [_cell(grid, left, top + row) for row in range(len(mask))])
        return float(np.count_nonzero(mask, axis=1) @ areas)
    down, rows_at = _interpolation(len(mask))
    over, columns_at = _interpolation(mask.shape[1])
    areas = _areas(earth, [_cell(grid, left + c, top + r) for r in rows_at for c in columns_at])
    share = 1 << 24  # cells that are summed at a time
    step = max(share // mask.shape[1], 1)
    weights = sum(
        down[first : first + step].T @ (mask[first : first + step].astype(np.float64) @ over)
        for first in range(0, len(mask), step)
    )
    return float((weights.ravel() * areas).sum())


def _cell(grid: Grid, column: float, row: float) -> np.ndarray:
    """Return the corners of a cell; column and row may be fractions."""
    return grid.to_map([(column, row), (column + 1, row), (column + 1, row + 1), (column, row + 1)])


def _areas(earth: Earth, cells: list[np.ndarray]) -> np.ndarray:
    return earth.areas(np.concatenate(cells), 4 * np.arange(len(cells) + 1))


def _interpolation(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights of interpolation, shape (count, nodes), and the positions of the nodes among `count` cells."""
    nodes = min(NODES, count)
    at = (count - 1) / 2 * (1 - np.cos(np.pi * (np.arange(nodes) + 0.5) / nodes))
    away = np.arange(count)[:, None] - at
    # barycentric form for Chebyshev's nodes
    sizes = (-1.0) ** np.arange(nodes) * np.sin(np.pi * (np.arange(nodes) + 0.5) / nodes)
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = sizes / away
        weights /= weights.sum(axis=1, keepdims=True)
    exact, node = np.nonzero(away == 0)
    weights[exact] = 0
    weights[exact, node] = 1
    return weights, at
