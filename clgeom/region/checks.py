"""Checks of the kernels of regions (`clgeom.core.checks`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from clgeom.core.checks import check, require, same
from clgeom.core.device import Session

SQUARES = 6


@check(before="region/arc", by_type=True)
def points(session: Session, dtype: np.dtype[Any]) -> None:
    """A region of squares on a parabola: lower right corners on its lower chain, upper left ones on its upper chain."""
    from clgeom.region.arc.adaptive import adaptive_region

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
    same(len(region.parts), 1, "parts")
    same(region.parts[0], np.array(lower + upper) * 256, "corners")


@check(before="region/coverage")
def raster(session: Session) -> None:
    """Regions of rectangles of cells, one of them with a hole: their corners."""
    from clgeom.region.coverage.regions import raster_regions

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
    expected = sorted([*(sorted(_rectangle(*four)) for four in corners), angle, sorted(holed)])
    require(rings == expected, f"rings: got {rings}, expected {expected}")


@check(before="region/rings")
def rings(session: Session) -> None:
    """Polygons of stairs, of squares with holes and islands that touch at corners, and of checks; exact and filled."""
    from clgeom.region.coverage.outlines import raster_outlines

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
    same(len(found), 1 + squares + islands + 900, "polygons")
    same(found.cells.sum(), np.count_nonzero(mask), "cells")
    same(found.areas, found.cells, "areas")
    same(len(found.corners), 42 + 8 * squares + 4 * islands + 4 * 900, "corners")
    same(filled.corners[: len(stairs)], stairs, "filled stairs")


@check(before="region/classes")
def classes(session: Session) -> None:
    """Arcs of a checkerboard, of squares in squares that touch, and of stripes: their numbers, cells and holes."""
    arcs = _arcs_of(session, _patches())
    same(len(arcs.values), 18 * 40 + 20 + 13 * 7 + 1, "faces")
    same(arcs.cells.sum(), 70 * 150, "cells")
    same(np.bincount(arcs.values, arcs.cells).astype(np.int64), np.bincount(_patches().ravel()), "cells of classes")
    same(np.bincount(np.diff(arcs.face_rings))[1:], [18 * 40 + 20 + 6 * 13, 13 + 1], "rings of faces")
    points, offsets = arcs.ring_corners()
    after = np.arange(1, len(points) + 1)
    after[offsets[1:] - 1] = offsets[:-1]
    x, y = points.T.astype(np.int64)
    areas = np.add.reduceat((x - x[after]) * y, offsets[:-1])
    same(np.add.reduceat(areas, arcs.face_rings[:-1]), arcs.cells, "areas of rings")


def _patches() -> np.ndarray:
    """A checkerboard of 18 x 40 cells, 20 stripes, and 13 squares with a hole of 6 pieces."""
    made = np.zeros((70, 150), np.uint8)
    made[:18, :40] = 1 + np.add.outer(np.arange(18), np.arange(40)) % 2
    made[20:60, 50:70] = 3 + np.arange(20) % 3
    for left in range(2, 145, 11):
        made[62:70, left : left + 9] = 7
        made[64:67, left + 2 : left + 5] = np.array([[8, 9, 8], [9, 9, 10], [10, 10, 8]])
    return made


def _arcs_of(session: Session, values: np.ndarray, **options: Any) -> Any:
    from clgeom.region.classes.trace import trace_arcs
    from clgeom.region.coverage.rasters import Stack

    rows, columns = values.shape
    return trace_arcs(Stack(session, "polygonize", values.dtype, 1, rows, columns, values[None]), **options)


def _rectangle(left: int, low: int, right: int, high: int) -> list[tuple[int, int]]:
    return [(left, low), (right, low), (right, high), (left, high)]


def _rings(region: Any) -> list[tuple[Any, ...]]:
    """Return the corners of all rings of a region, sorted."""
    rings = [*region.rings, *(ring for hole in region.hole_rings for ring in hole)]
    return sorted(tuple(corner) for ring in rings for corner in ring.tolist())


@check(
    "region/arc: arc_swap arc_cuts arc_hulls arc_hulls_local arc_tangents arc_counts arc_offsets arc_emit "
    "arc_hulls_blocks arc_corners arc_join arc_tangents_wide arc_outline_local arc_tile_offsets arc_place",
    by_type=True,
)
def regions_by_kernel(session: Session, dtype: np.dtype[Any]) -> str:
    from clgeom.hull.convex import convex_hull
    from clgeom.region.arc.adaptive import adaptive_region
    from clgeom.region.arc.study import region_by_kernel

    points = (np.random.default_rng(0).normal(size=(5_011, 2)) * 1000).astype(dtype)
    whole = convex_hull(points, device=session).points
    same(adaptive_region(points, 1, device=session).polygon, whole, f"{dtype}, one segment")
    options: list[dict[str, Any]] = [
        {"segments": 900, "axis": "x"},
        {"segments": 900, "axis": "y"},
        {"segments": 5},
        {"segments": 70},
    ]
    for how in options:  # 5 and 70: long segments, in several blocks
        naive: Any
        local: Any
        naive, local = (region_by_kernel(points, **how, kernel=kernel, device=session) for kernel in ("naive", "local"))
        require(naive.contains(points).all(), f"{dtype}: a region of {how} lost a point")
        same(naive.lower, local.lower, f"{dtype}, lower chains of {how}")
        same(naive.upper, local.upper, f"{dtype}, upper chains of {how}")
    return "regions of 5,011 points"


@check(
    "region/coverage: coverage_extents coverage_columns coverage_candidates coverage_bits coverage_edges "
    "coverage_unite_shares coverage_unite coverage_roots coverage_outlines"
)
def whole_regions_and_parts(session: Session) -> str:
    from clgeom.region.coverage.regions import raster_regions

    rows, columns = np.ogrid[:90, :130]
    disc, ring = np.hypot(rows - 40, columns - 30), np.hypot(rows - 45, columns - 95)
    maps = np.stack([np.maximum(60 - disc, 60 - np.abs(ring - 20)), 60 - ring]).astype(np.float32)
    whole = raster_regions(maps, (40, 55), parts=False, device=session)
    parts = raster_regions(maps, (40, 55), holes=0, device=session)
    require((len(whole), len(parts)) == (4, 6), f"{len(whole)} regions, {len(parts)} parts")
    for region in whole:
        cells = np.argwhere(maps[region.map] >= region.level)[:, ::-1]
        require(region.contains(cells).all() and region.contains(cells + 1).all(), f"{region} misses a cell")
    for m in (0, 1):
        for level in (40, 55):
            found = sum(r.cells or 0 for r in parts if r.map == m and r.level == level)
            same(found, (maps[m] >= level).sum(), f"cells of map {m} at level {level}")
    return "2 maps of 90 x 130 cells, 2 levels, parts and holes"


@check(
    "region/rings: rings_runs rings_bits rings_ends rings_link rings_trace rings_chains rings_firsts rings_walk "
    "rings_jump rings_rank rings_leaders rings_sizes rings_place rings_sides rings_corners rings_facts rings_offsets "
    "rings_polygons outward_begin outward_mark outward_others outward_measure "
    "outward_choose outward_remove outward_advance outward_gone outward_list outward_keys outward_amounts "
    "outward_bounds outward_least outward_take outward_settle outward_kept outward_sizes outward_emit"
)
def polygons_along_cells(session: Session) -> str:
    from clgeom.region.coverage.regions import coverage_regions

    rows, columns = np.ogrid[:90, :130]
    values = ((rows * 37 + columns * 53) % 61 + 3 * np.hypot(rows - 40, columns - 60)).astype(np.float32)
    exact = coverage_regions(-values, (-120, -70), outline="cells", device=session)
    found = coverage_regions(-values, (-120, -70), outline="cells", iou=0.9, device=session)
    for k, level in enumerate((-120, -70)):
        same(exact.cells[exact.levels == k].sum(), (-values >= level).sum(), f"cells at level {level}")
    same(exact.areas, exact.cells.astype(np.float64), "areas of the exact polygons")
    same(found.cells, exact.cells, "cells of the simplified polygons")
    require((found.areas >= exact.areas).all(), "a simplified polygon lost area")
    require(len(found.corners) < len(exact.corners) and found.iou >= 0.9, f"{len(found.corners)} corners, {found.iou}")
    return f"{len(exact):,} polygons of 90 x 130 cells, 2 levels"


@check(
    "region/classes: classes_marks classes_counts classes_runs classes_unite classes_roots classes_leaders "
    "classes_faces classes_values classes_corners classes_link classes_sizes classes_emit classes_sides classes_halves "
    "classes_begin classes_ring_sizes classes_place classes_keys classes_order classes_rings classes_cells "
    "classes_diagonals classes_loops classes_paths classes_circuits classes_sums classes_crossings classes_regions"
)
def arcs_between_classes(session: Session) -> str:
    rows, columns = np.ogrid[:90, :130]
    values = (np.hypot(rows - 40, columns - 60) / 9 + (rows * 37 + columns * 53) % 61 // 55).astype(np.int16)
    for connectivity in (4, 8):
        arcs = _arcs_of(session, values, connectivity=connectivity, nodata=3)
        counts = np.bincount(values[values != 3])
        same(np.bincount(arcs.values, arcs.cells).astype(np.int64), counts, "cells of classes")
        require((len(arcs.values) > arcs.regions.max() + 1) == (connectivity == 8), "numbers of regions")
        passed = np.where(arcs.ring_arcs < 0, ~arcs.ring_arcs, arcs.ring_arcs)
        same(np.bincount(passed), 1 + (arcs.right >= 0), "sides of arcs")
    return f"{len(arcs.values):,} faces of 90 x 130 cells, {len(arcs):,} arcs"
