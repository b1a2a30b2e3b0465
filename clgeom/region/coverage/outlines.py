"""Outlines of the covered cells of rasters along their sides: exact polygons, or simplified ones that cover all cells.

masks      -> rings around their parts, on the device (rings.trace)
rings      -> without the vertices that a budget takes away (rings.outward, rings.budgets)
rings      -> arrays for the caller (rings.emission)
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from clgeom.arguments import boolean, integer, real, wrong
from clgeom.core.call import Call
from clgeom.core.device import Session
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import DeviceLimit, InvalidInput, is_number, short
from clgeom.intake.device_arrays import is_device_array
from clgeom.intake.dispatch import dispatch
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.interop.rasters import Raster
from clgeom.intake.typing import AnyArray, ChunksLike, DevicesLike, FloatLike, IntLike
from clgeom.optional import require_shapely
from clgeom.region.arc.result import checked_tolerance
from clgeom.region.coverage.grid import Grid
from clgeom.region.coverage.masks import (
    CELLS_AT_ONCE,
    CoveredCells,
    Masks,
    MaskWork,
    batches_of,
    covered_cells,
    maps_at_once,
)
from clgeom.region.rings.budgets import Goal
from clgeom.region.rings.emission import Emitted, arrays_of, emit_polygons, joined
from clgeom.region.rings.outward import simplify_outward
from clgeom.region.rings.polygons import CoveragePolygons
from clgeom.region.rings.trace import trace_rings

#: More vertices than any polygons have.
ANY_NUMBER = 1 << 62
#: Bytes of a device's memory for each cell of a batch, where that gives more cells than `CELLS_AT_ONCE`.
CELL_BYTES = 128


@keeps_subnormals
@takes_cuda
def raster_outlines(
    raster: AnyArray | ChunksLike | Raster,
    levels: FloatLike | Sequence[FloatLike],
    *,
    direction: Literal[">=", "<="] = ">=",
    vertices: IntLike | None = None,
    part_vertices: IntLike | None = None,
    tolerance: FloatLike | None = None,
    iou: FloatLike | None = None,
    apart: bool = False,
    device: DevicesLike = None,
    profile: bool = False,
) -> CoveragePolygons:
    """Polygonize a raster: the outlines of the cells that reach a level, exact or simplified outwards.

    There is a polygon, with all its holes, for each part of cells that share sides. Without a budget (`vertices` to
    `iou`) it follows the sides of the cells exactly. With budgets it is simplified outwards: polygons cover every cell,
    holes shrink or vanish, and polygons of one level do not overlap. A polygon of a higher level is within one of the
    lower level.

    Parameters
    ----------
    raster, levels, direction
        As for `raster_regions`.
    vertices, part_vertices : int, optional
        Most vertices of each map and level, or of each polygon; vertices whose removal adds the least area go first.
        Vertices are counted before any reprojection.
    tolerance : float, optional
        Largest distance of the polygons from the cells, in the unit of the transformed coordinates.
    iou : float, optional
        Least area of the cells over that of the polygons, of each map and level, above 0 and at most 1. With this or
        with `tolerance` alone, as few vertices remain as they allow.
    apart : bool
        Simplified polygons of different maps do not overlap either: for maps that share no cells, such as the areas of
        best servers, ``best == numpy.arange(n)[:, None, None]``.
    device : optional
        As everywhere in clgeom. "all", or a list of devices, shares maps of the host out among them; polygons are
        simplified by the first one.
    profile : bool
        Measure each phase with the device's clock.

    Returns
    -------
    CoveragePolygons
        Polygons as arrays of vertices and offsets, ordered by map, by level as given, and by part from top to bottom;
        a level that no cell reaches has none. For a raster on the device they stay there. `peak` is the memory that
        strips took.

    Raises
    ------
    InvalidInput
        As for `raster_regions`. For fewer vertices than polygons need that cover their cells: the message says how many
        that is. For maps that share cells with ``apart=True``.
    DeviceLimit
        For a raster of float64 on a device without float64, or too little memory.

    See Also
    --------
    raster_regions : Outlines of a chosen resolution, with few vertices.
    covered_area : Areas and weights alone.

    Examples
    --------
    >>> import clgeom, numpy as np
    >>> raster = np.array([[9, 0, 0, 9], [9, 9, 0, 9]])
    >>> polygons = clgeom.raster_outlines(raster, 5)
    >>> polygons, polygons.areas.tolist()
    (CoveragePolygons(2 polygons >= 5 of 2 x 4 cells, 10 vertices), [3.0, 2.0])
    >>> clgeom.raster_outlines(raster, 5, part_vertices=5).areas.tolist()
    [3.5, 2.0]
    """
    goal = checked_goal(vertices, part_vertices, tolerance, iou, apart, caller="raster_outlines")
    return outline_cells(
        raster, levels, goal, direction=direction, device=device, profile=profile, caller="raster_outlines"
    )


def checked_goal(
    vertices: Any, part_vertices: Any, tolerance: Any, iou: Any, apart: bool = False, *, caller: str
) -> Goal:
    """Return the budgets of a simplification, with the tolerance in the map's unit; see `goal_in_cells`."""
    most, part_most = (
        None if count is None else min(integer(count, name, caller=caller), ANY_NUMBER)
        for name, count in (("vertices", vertices), ("part_vertices", part_vertices))
    )
    if tolerance is not None:
        tolerance = min(real(checked_tolerance(tolerance, caller=caller)), sys.float_info.max)
    if iou is not None:
        if not (is_number(iou) and 0 < iou <= 1 and float(iou) > 0):
            raise wrong("iou", caller, "above 0 and at most 1", short(iou))
        iou = float(iou)
    return Goal(most, part_most, tolerance, iou, boolean(apart, "apart", caller=caller))


def goal_in_cells(goal: Goal, grid: Grid) -> Goal:
    """Return the goal with its tolerance in cells, in the direction in which cells are longest."""
    if goal.tolerance is None:
        return goal
    a, b, _, d, e, _ = grid.transform
    return replace(goal, tolerance=goal.tolerance / float(np.linalg.norm(np.array([[a, b], [d, e]]), 2)))


def outline_cells(
    raster: Any, levels: Any, goal: Goal, *, direction: str, device: Any, profile: bool, caller: str
) -> CoveragePolygons:
    """Return the polygons of `raster_outlines` for a checked goal."""
    call = Call(caller, profile=profile)
    cells = covered_cells(call, raster, levels, direction, device, whole=goal.apart)
    work = OutlineWork(call, cells, goal_in_cells(goal, cells.grid))
    if goal.apart:
        _check_apart(cells, caller)
        call.sessions = call.sessions[:1]  # one device simplifies them, together
        if maps_at_once(work.masks, cells=work.cells) < work.n:
            raise DeviceLimit(f"{caller} takes maps that stay apart all at once, and these are too large for that.")
    with call:
        arrays, exact = dispatch(call, work)
    levels = cells.levels
    polygons = CoveragePolygons(arrays, exact, cells.grid, levels.given, levels.direction, tuple(call.phases))
    polygons.apart, polygons.peak = goal.apart, cells.peak
    return polygons


class OutlineWork(MaskWork):
    """The arrays of the polygons of all masks, and the number of corners before they were simplified."""

    def __init__(self, call: Call, cells: CoveredCells, goal: Goal) -> None:
        most = max(CELLS_AT_ONCE, call.session.profile.global_mem_bytes // CELL_BYTES)
        super().__init__(call, cells.masks, functools.partial(outlines_on_host, goal=goal), cells=most)
        values = cells.values
        self.goal, self.array = goal, values if type(values) is not np.ndarray and is_device_array(values) else None

    def at_once(self, session: Session) -> Any:
        if self.array is None:
            return _joined(super().at_once(session))
        batches: list[Emitted] = []
        for masks in batches_of(self.masks, cells=self.cells):
            batches += _emit_batches(masks, self.goal, batches)
        arrays = arrays_of(session, batches, self.array.queue or session.queue, on_device=True)
        return arrays, sum(batch.exact_corners for batch in batches)

    def join(self, session: Session, results: list[Any]) -> Any:
        return _joined(super().join(session, results))


def _joined(pieces: list[Any]) -> tuple[dict[str, np.ndarray], int]:
    """Return the arrays of several batches on the host, and their number of exact corners."""
    arrays, exact = zip(*pieces)
    return arrays[0] if len(arrays) == 1 else joined(arrays), sum(exact)


def outlines_on_host(masks: Masks, goal: Goal, runs: np.ndarray | None = None) -> tuple[dict[str, np.ndarray], int]:
    """Return the arrays of the polygons of some masks, and the number of corners before they were simplified.

    `runs` are those in the rows of a raster that is not there itself.
    """
    batches = _emit_batches(masks, goal, [], runs)
    return arrays_of(masks.session, batches, on_device=False), sum(batch.exact_corners for batch in batches)


def _emit_batches(masks: Masks, goal: Goal, before: list[Emitted], runs: np.ndarray | None = None) -> list[Emitted]:
    """Return the polygons of some masks, that follow others, in a list; of halves of the maps if memory is short."""
    made: list[Emitted] = []
    pending, is_simplified = [masks], goal not in (Goal(), Goal(apart=True))
    while pending:
        some = pending.pop()
        try:
            rings = trace_rings(some, runs)
            if rings is None:  # nothing is covered
                continue
            taken = simplify_outward(rings, goal) if is_simplified else None
            made.append(emit_polygons(rings, [*before, *made], taken))
        except DeviceLimit:
            if some.maps == 1 or goal.apart:
                raise
            half = some.maps // 2
            pending += (some.subset(half, some.maps - half), some.subset(0, half))
    return made


def _check_apart(cells: CoveredCells, caller: str) -> None:
    """Refuse maps that share covered cells."""
    stack, levels = cells.stacks[0], cells.levels
    if stack.array is None and len(cells.stacks) > 1:
        raise InvalidInput(f"The 'apart' parameter of {caller} is for maps in one array. Got {len(cells.stacks)}.")
    for k, level in enumerate(levels.given):
        seen = np.zeros((stack.rows, stack.columns), bool)
        for number in range(stack.maps):
            mask = levels.mask(stack.map(number), k)
            if (seen & mask).any():
                row, column = np.argwhere(seen & mask)[0].tolist()
                raise InvalidInput(
                    f"The 'raster' parameter of {caller} must have maps that share no covered cells for apart=True. "
                    f"Got the cell ({row}, {column}) in map {number} and in one before, at level {level:g}."
                )
            seen |= mask


def mask_polygons(mask: np.ndarray, *, device: Any = None) -> Any:
    """Return the cells of a mask that are set as a valid Shapely MultiPolygon, in columns and rows."""
    shapely = require_shapely()
    if not mask.any():
        return shapely.geometry.MultiPolygon()
    return shapely.multipolygons(raster_outlines(mask, 1, device=device).to_shapely(cells=True))
