"""Positions of rasters: the transform from columns and rows to map coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.arguments import wrong
from clgeom.geo.geodesy import shown
from clgeom.intake.typing import ArrayLike, NDArray

IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
#: Largest distance of corners of two rasters of the same cells, in cells: files round transforms and coordinates.
APART = 0.1


@dataclass(frozen=True)
class Grid:
    """Position of a raster: pixel corner (column, row) at ``x = a column + b row + c, y = d column + e row + f``.

    `unit` is the unit of the values, where the raster came with one.
    """

    transform: tuple[float, ...]
    crs: Any
    shape: tuple[int, int]
    unit: str | None = None

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
    corners = grid.to_map(grid.corners)
    sides = np.linalg.svd(np.array(numbers).reshape(2, 3)[:, :2], compute_uv=False)
    with np.errstate(invalid="ignore", over="ignore"):
        told_apart = 16 * np.spacing(np.abs(corners).max()) < sides[1]
    if not (np.isfinite(corners).all() and math.isfinite(grid.determinant) and told_apart):
        raise wrong(
            "transform",
            caller,
            "cells at coordinates that float64 holds and tells apart",
            f"{shown(transform, 200)} for {shape[0]:,} x {shape[1]:,} cells",
            verb="put",
        )
    return grid
