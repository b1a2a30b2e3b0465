"""Trials of a device with known answers (clgeom.core.trust): regions."""

from __future__ import annotations

import numpy as np

from clgeom.region.arc.adaptive import adaptive_region
from clgeom.region.coverage.outlines import raster_outlines
from clgeom.region.coverage.regions import raster_regions

SQUARES = 6


def points(session, dtype) -> bool:
    """A region of squares on a parabola: lower right corners on its lower chain, upper left ones on its upper chain."""
    i = np.arange(SQUARES)
    left, low = 10 * i, i * i
    k = np.arange(400)
    inside = np.stack([k * 37 % 101, k * 53 % 103], axis=1) / 128.0 * 4 + 0.25
    square = np.concatenate([[(0, 0), (4, 0), (4, 4), (0, 4)], inside])
    scattered = (np.stack([left, low], axis=1)[:, None, :] + square).reshape(-1, 2) * 256  # whole numbers
    scattered = scattered[np.arange(len(scattered)) * 7919 % len(scattered)]
    region = adaptive_region(scattered.astype(dtype), SQUARES, device=session)
    lower = [(left[0], low[0]), *zip(left + 4, low)]
    upper = [(left[-1] + 4, low[-1] + 4), *zip(left[::-1], low[::-1] + 4)]
    expected = np.array(lower + upper) * 256
    return len(region.parts) == 1 and np.array_equal(region.parts[0], expected)


def raster(session, dtype) -> bool:
    """Regions of rectangles of cells, one of them with a hole: their corners."""
    values = np.zeros((150, 200), np.float32)
    corners = []
    for row in range(2, 140, 24):
        for column in range(3, 180, 19):
            height, width = 1 + (row + column) % 9, 1 + row * column % 13
            values[row : row + height, column : column + width] = 5
            corners.append((column, row, column + width, row + height))
    values[0, :], values[:, 199] = 5, 5  # an angle
    values[144:149, 10:20] = 5
    values[146, 12:17] = 1
    found = raster_regions(values, [3.0], holes=0, segments=200, device=session)
    rings = sorted(_rings(region) for region in found)
    # the hull of the last two segments, columns 198 and 199, has an edge from one to the other
    angle = sorted([(0, 0), (200, 0), (200, 150), (199, 150), (198, 1), (0, 1)])
    holed = [*_rectangle(10, 144, 20, 149), *_rectangle(12, 146, 17, 147)]
    return rings == sorted([*map(_rectangle_list, corners), angle, sorted(holed)])


def rings(session, dtype) -> bool:
    """Polygons of stairs, of squares with holes and islands that touch at corners, and of checks; exact and filled."""
    mask = np.zeros((70, 150), bool)
    for row in range(20):
        mask[row, : 2 * row + 3] = True  # stairs: every inner corner goes, and then those in line
    for left in range(50, 140, 11):
        mask[5:14, left : left + 9] = True
        mask[7:12, left + 2 : left + 7] = False
        mask[8, left + 3] = mask[9, left + 4] = True  # islands that touch at a corner
    mask[30:60, :60] = np.add.outer(np.arange(30), np.arange(60)) % 2 == 0
    found = raster_outlines(mask, 1, device=session)
    filled = raster_outlines(mask, 1, vertices=len(found.corners) - 37, device=session)
    squares, islands = 9, 18
    stairs = [[0, 0], [3, 0], [41, 19], [41, 20], [0, 20]]
    return bool(
        len(found) == 1 + squares + islands + 900
        and found.cells.sum() == np.count_nonzero(mask)
        and np.array_equal(found.areas, found.cells)
        and len(found.corners) == 42 + 8 * squares + 4 * islands + 4 * 900
        and filled.corners[: len(stairs)].tolist() == stairs
    )


def _rectangle(left, low, right, high):
    return [(left, low), (right, low), (right, high), (left, high)]


def _rectangle_list(corners):
    return sorted(_rectangle(*corners))


def _rings(region):
    """The corners of all rings of a region, sorted."""
    rings = [*region.rings, *(ring for hole in region.hole_rings for ring in hole)]
    return sorted(tuple(corner) for ring in rings for corner in ring.tolist())
