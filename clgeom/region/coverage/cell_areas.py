"""Areas of the cells of rasters on the earth."""

from __future__ import annotations

import numpy as np

from clgeom.geo.geodesy import Earth, as_crs, is_plain_geographic, plain_area
from clgeom.region.coverage.grid import Grid

#: Nodes along each axis between which the area of a cell is interpolated.
NODES = 33


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
