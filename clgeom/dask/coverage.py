"""Coverage regions of rasters in the chunks of an array: of one raster by strips, of stacks by maps.

The partial result of a strip is its runs of covered cells in columns. Runs that go on in the next strip are joined, so
strips need no rows of their neighbours. Connected parts, holes and outlines come from the runs of all strips. For the
polygons of all cells these are the runs in rows, which no strip cuts.

    strip 0  |  | | |        column by column: first and last row of each run
    -----------------
    strip 1    || |          a run from row 0 goes on where the strip above has one that ends in its last row
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from dask.delayed import Delayed

from clgeom.arguments import boolean, integer, one_of, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.dask.graphs import SPLIT_EVERY, blocks_of, in_chunk, is_array, name_of, tree
from clgeom.dask.workers import checked_device, session_of_worker
from clgeom.intake.interop.rasters import Raster
from clgeom.intake.typing import FloatLike, IntLike, NDArray
from clgeom.region.arc.chains import CUTS
from clgeom.region.coverage.grid import Grid, as_grid
from clgeom.region.coverage.masks import Masks, Segmentation
from clgeom.region.coverage.outlines import checked_goal, in_cells, outlines_on_host
from clgeom.region.coverage.parts import regions_of
from clgeom.region.coverage.rasters import Levels, Stack, as_levels, as_stack, canonical_raster
from clgeom.region.coverage.regions import checked_holes, refuse_others
from clgeom.region.coverage.regions import coverage_regions as coverage_regions_of_chunk
from clgeom.region.coverage.result import CoverageRegions
from clgeom.region.coverage.runs import Runs, covered_runs
from clgeom.region.rings.budgets import Goal
from clgeom.region.rings.emission import ARRAYS, joined
from clgeom.region.rings.polygons import CoveragePolygons
from clgeom.region.rings.runs import packed_runs, runs_below

#: ``leaf``, ``join`` and ``finish`` of `tree`.
Steps: TypeAlias = tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]


@keeps_subnormals
def raster_regions(
    raster: Any,
    levels: FloatLike | Sequence[FloatLike],
    *,
    direction: Literal[">=", "<="] = ">=",
    segments: IntLike = 64,
    cuts: Literal["count", "width"] = "count",
    axis: Literal["x", "both"] = "x",
    parts: bool = True,
    holes: FloatLike | None = None,
    device: str | None = None,
    split_every: int = SPLIT_EVERY,
    resources: dict[str, float] | None = None,
) -> Delayed:
    """Regions of a chosen resolution around the cells of a raster, or of each map of a stack; lazily.

    Parameters
    ----------
    raster : dask.array.Array, or Raster of one, shape (rows, columns) or (maps, rows, columns)
        One raster is read by strips of whole rows, which its chunks become; a stack by whole maps. Numbers of rows or
        maps in a chunk may be unknown.
    levels, direction, cuts, axis, parts, holes
        As for `clgeom.raster_regions`.
    segments : int
        One number of segments.
    device, split_every, resources
        As for `convex_hull`.

    Returns
    -------
    dask.delayed.Delayed of CoverageRegions

    Raises
    ------
    InvalidInput
        As for `clgeom.raster_regions`; some of them when it is computed.

    Examples
    --------
    >>> import clgeom, dask.array, numpy, clgeom.dask
    >>> raster = dask.array.from_array(numpy.array([[9, 0, 0, 9], [9, 9, 0, 9]]), chunks=(1, 2))
    >>> [region.area for region in clgeom.dask.raster_regions(raster, 5).compute()]
    [3.5, 2.0]
    """
    segmentation = {"segments": segments, "cuts": cuts, "axis": axis, "parts": parts}
    graph: dict[str, Any] = {"device": device, "split_every": split_every, "resources": resources}
    return _lazy("dask.raster_regions", raster, levels, direction, segmentation, holes, None, {}, **graph)


@keeps_subnormals
def raster_outlines(
    raster: Any,
    levels: FloatLike | Sequence[FloatLike],
    *,
    direction: Literal[">=", "<="] = ">=",
    vertices: IntLike | None = None,
    part_vertices: IntLike | None = None,
    tolerance: FloatLike | None = None,
    iou: FloatLike | None = None,
    device: str | None = None,
    split_every: int = SPLIT_EVERY,
    resources: dict[str, float] | None = None,
) -> Delayed:
    """Polygons along the cells of a raster, or of each map of a stack, exact or simplified outwards; lazily.

    Parameters
    ----------
    raster : dask.array.Array, or Raster of one, shape (rows, columns) or (maps, rows, columns)
        As for `raster_regions`. All workers find the runs of covered cells in the rows of strips of one raster, and one
        of them makes and simplifies the polygons of these runs.
    levels, direction, vertices, part_vertices, tolerance, iou
        As for `clgeom.raster_outlines`.
    device, split_every, resources
        As for `convex_hull`.

    Returns
    -------
    dask.delayed.Delayed of CoveragePolygons

    Raises
    ------
    InvalidInput
        As for `clgeom.raster_outlines`; some of them when it is computed.

    Examples
    --------
    >>> import dask.array, numpy, clgeom, clgeom.dask
    >>> raster = dask.array.from_array(numpy.array([[9, 0, 0, 9], [9, 9, 0, 9]]), chunks=(1, 2))
    >>> placed = clgeom.Raster(raster, transform=(2, 0, 0, 0, -2, 4))
    >>> clgeom.dask.raster_outlines(placed, 5).compute().areas.tolist()
    [12.0, 8.0]
    """
    budgets = {"vertices": vertices, "part_vertices": part_vertices, "tolerance": tolerance, "iou": iou}
    graph: dict[str, Any] = {"device": device, "split_every": split_every, "resources": resources}
    return _lazy("dask.raster_outlines", raster, levels, direction, {}, None, "cells", budgets, **graph)


@keeps_subnormals
def coverage_regions(
    raster: Any,
    levels: FloatLike | Sequence[FloatLike],
    *,
    direction: Literal[">=", "<="] = ">=",
    transform: Any = None,
    crs: Any = None,
    nodata: FloatLike | None = None,
    segments: IntLike = 64,
    cuts: Literal["count", "width"] = "count",
    axis: Literal["x", "both"] = "x",
    parts: bool = True,
    holes: FloatLike | None = None,
    outline: Literal["segments", "cells"] = "segments",
    vertices: IntLike | None = None,
    part_vertices: IntLike | None = None,
    tolerance: FloatLike | None = None,
    iou: FloatLike | None = None,
    device: str | None = None,
    split_every: int = SPLIT_EVERY,
    resources: dict[str, float] | None = None,
) -> Delayed:
    """The result of `raster_regions`, or of `raster_outlines` with ``outline="cells"``, in one function; lazily.

    Parameters
    ----------
    raster, levels, direction
        As for `raster_regions`.
    transform, crs, nodata : optional
        As for `clgeom.Raster`; they replace those that `raster` has.
    segments, cuts, axis, parts, holes
        As for `raster_regions`, for ``outline="segments"`` only.
    outline : {"segments", "cells"}
    vertices, part_vertices, tolerance, iou
        As for `raster_outlines`, for ``outline="cells"`` only.
    device, split_every, resources
        As for `convex_hull`.

    Returns
    -------
    dask.delayed.Delayed of CoverageRegions or CoveragePolygons

    Raises
    ------
    InvalidInput
        As for `clgeom.coverage_regions`; some of them when it is computed.

    Examples
    --------
    >>> import dask.array, numpy, clgeom.dask
    >>> raster = dask.array.from_array(numpy.array([[9, 0, 0, 9], [9, 9, 0, 9]]), chunks=(1, 2))
    >>> regions = clgeom.dask.coverage_regions(raster, 5).compute()
    >>> [(region.cells, region.area) for region in regions]
    [(3, 3.5), (2, 2.0)]
    """
    raster = Raster(raster, transform, crs, nodata)
    segmentation = {"segments": segments, "cuts": cuts, "axis": axis, "parts": parts}
    budgets = {"vertices": vertices, "part_vertices": part_vertices, "tolerance": tolerance, "iou": iou}
    graph: dict[str, Any] = {"device": device, "split_every": split_every, "resources": resources}
    return _lazy("dask.coverage_regions", raster, levels, direction, segmentation, holes, outline, budgets, **graph)


def _lazy(
    caller: str,
    raster: Any,
    levels: Any,
    direction: str,
    segmentation: dict[str, Any],
    holes: Any,
    outline: str | None,
    budgets: dict[str, Any],
    *,
    device: str | None,
    split_every: int,
    resources: dict[str, float] | None,
) -> Delayed:
    """The graph of a public function, from its parameters."""
    device = checked_device(device, caller=caller)
    placed = raster if isinstance(raster, Raster) else Raster(raster)
    array = _checked(placed.values, caller)
    segmentation = {"segments": 64, "cuts": "count", "axis": "x", "parts": True, **segmentation}
    outline = "segments" if outline is None else outline
    one_of(segmentation["cuts"], CUTS, "cuts", caller=caller)
    one_of(segmentation["axis"], ("x", "both"), "axis", caller=caller)
    one_of(outline, ("segments", "cells"), "outline", caller=caller)
    rows, columns = (1 if math.isnan(size) else size for size in array.shape[-2:])
    grid = as_grid(placed.transform, placed.crs, (rows, columns), caller=caller, unit=placed.unit)
    segmentation["segments"] = integer(segmentation["segments"], "segments", caller=caller)
    segmentation["parts"] = boolean(segmentation["parts"], "parts", caller=caller)
    refuse_others(outline, segmentation, holes, budgets, caller=caller)
    cells = {name: segmentation[name] for name in ("cuts", "axis")}
    options = _Options(
        caller,
        device,
        _as_given(levels),
        array.dtype.newbyteorder("=").name,
        {"direction": direction, "nodata": placed.nodata, "outline": outline, **cells, "holes": holes},
        segmentation["segments"],
        segmentation["parts"],
        budgets,
        None if placed.transform is None else grid.transform,
        placed.crs,
    )
    options.levels_of(options.canonical)
    checked_holes(holes, caller=caller)
    options.goal()
    by_strips = array.ndim == 2
    try:
        array = array.rechunk({1: -1} if by_strips else {axis: -1 for axis in range(array.ndim - 2, array.ndim)})
    except ValueError as error:
        raise wrong("raster", caller, "of known chunk sizes here, to join chunks", f"{array.shape}") from error
    steps: Steps = (_maps, _one_after_another, _taken)
    if by_strips:
        steps = (_strip, _below_each_other, _outlined) if outline == "segments" else (_rows, _rows_below, _polygons)
    name = name_of(caller.removeprefix("dask.").replace("_", "-"), [array], options, split_every)
    return tree(name, *steps, options, [blocks_of(array)], split_every=split_every, resources=resources, caller=caller)


def _checked(raster: Any, caller: str) -> Any:
    function = caller.removeprefix("dask.")
    if not is_array(raster):
        raise wrong("raster", caller, f"a dask.array.Array; clgeom.{function} takes others", type(raster).__name__)
    if raster.ndim not in (2, 3) or 0 in raster.shape:
        expected = "shape (rows, columns) or (maps, rows, columns), none of them 0"
        raise wrong("raster", caller, expected, raster.shape, verb="have")
    return raster


def _as_given(levels: Any) -> Any:
    """Levels that are compared, pickled and named as values."""
    return levels.tolist() if isinstance(levels, np.ndarray) else levels


@dataclass(frozen=True)
class _Options:
    caller: str
    device: str | None
    levels: Any
    dtype: str
    cells: dict[str, Any]
    segments: int
    parts: bool
    budgets: dict[str, Any]
    transform: tuple[float, ...] | None
    crs: Any

    @property
    def canonical(self) -> np.dtype[Any]:
        """The type in which cells are compared."""
        return canonical_raster(np.zeros((1, 1), self.dtype), caller=self.caller).dtype

    def levels_of(self, dtype: np.dtype[Any], integers: bool = False) -> Levels:
        given = self.levels, self.cells["direction"], self.cells["nodata"], dtype
        return as_levels(*given, caller=self.caller, integers=integers)

    def goal(self) -> Goal:
        """The budgets of a simplification, with the tolerance in the map's unit."""
        budgets = {"vertices": None, "part_vertices": None, "tolerance": None, "iou": None, **self.budgets}
        return checked_goal(**budgets, caller=self.caller)

    def checked(self, chunk: Any) -> Any:
        """The chunk, if it has the type that the collection says."""
        if np.dtype(chunk.dtype).newbyteorder("=") != self.dtype:
            raise wrong(
                "raster",
                self.caller,
                f"chunks of one type, {self.dtype} as the collection says",
                chunk.dtype,
                verb="have",
            )
        return chunk


# One raster by strips ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Strip:
    """The runs of some rows, all columns: of each its mask (which is its level), line, first and last cell.

    The lines of `down` are columns, those of `across` (None for axis="x") are rows. Rows count from the strip's first.
    """

    rows: int
    columns: int
    down: NDArray[np.int32]
    across: NDArray[np.int32] | None


def _strip(options: _Options, number: int, chunk: Any) -> Strip:
    if len(chunk) == 0:
        nothing = np.empty((4, 0), np.int32)
        return Strip(0, chunk.shape[1], nothing, nothing if options.cells["axis"] == "both" else None)
    with in_chunk(number):
        stack = as_stack(options.checked(chunk), session_of_worker(options.device), caller=options.caller)
        masks = Masks(stack, options.levels_of(stack.dtype, stack.integers), 0, 1)
        across = _packed(covered_runs(masks.turned())) if options.cells["axis"] == "both" else None
        return Strip(stack.rows, stack.columns, _packed(covered_runs(masks)), across)


def _packed(runs: Runs) -> NDArray[np.int32]:
    mask, line = np.divmod(runs.column, runs.width)
    return np.stack([mask, line, runs.top, runs.bottom]).astype(np.int32)


def _below_each_other(options: _Options, strips: list[Strip]) -> Strip:
    """The runs of strips, one below the other, as those of one strip."""
    firsts = np.cumsum([0, *(strip.rows for strip in strips)])
    moved = [strip.down + np.array([0, 0, first, first], np.int32)[:, None] for first, strip in zip(firsts, strips)]
    mask, line, top, bottom = runs = _sorted(np.concatenate(moved, axis=1))
    goes_on = (mask[1:] == mask[:-1]) & (line[1:] == line[:-1]) & (top[1:] == bottom[:-1] + 1)
    begins, ends = np.r_[True, ~goes_on][: len(mask)], np.r_[~goes_on, True][: len(mask)]
    down = np.concatenate([runs[:3, begins], runs[3:, ends]])
    across = None
    if strips[0].across is not None:
        parts = [(first, strip.across) for first, strip in zip(firsts, strips) if strip.across is not None]
        moved = [runs + np.array([0, first, 0, 0], np.int32)[:, None] for first, runs in parts]
        across = _sorted(np.concatenate(moved, axis=1))
    return Strip(int(firsts[-1]), strips[0].columns, down, across)


def _sorted(runs: NDArray[np.int32]) -> NDArray[np.int32]:
    """Runs by mask, line and first cell."""
    return runs[:, np.lexsort(runs[2::-1])]


def _outlined(options: _Options, strip: Strip) -> CoverageRegions:
    """The regions of all runs."""
    (stack, chosen, grid), cells = _whole_of(options, strip), options.cells
    segmentation = Segmentation((options.segments,), cells["cuts"], strip.across is not None)
    holes = checked_holes(cells["holes"], caller=options.caller)
    least = None if holes is None else holes / grid.cell_area
    runs = _unpacked(strip.down, strip.columns, strip.rows, len(chosen.given))
    there = None if strip.across is None else _unpacked(strip.across, strip.rows, strip.columns, len(chosen.given))
    groups = regions_of(Masks(stack, chosen, 0, 1), runs, there, segmentation, parts=options.parts, least=least)[0]
    if not options.parts and least is None:  # cells are not counted there
        groups = [replace(group, cells=None) for group in groups]
    return CoverageRegions(groups, grid, chosen.given, cells["direction"], ())


def _unpacked(packed: NDArray[np.int32], width: int, rows: int, masks: int) -> Runs:
    mask, line, top, bottom = packed.astype(np.int64)
    return Runs(mask * width + line, top, bottom, width, masks * width, rows)


# Polygons of one raster by strips ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rows:
    """The packed runs of some rows, all columns. Rows count from the first of them."""

    rows: int
    columns: int
    runs: NDArray[np.int32]


def _rows(options: _Options, number: int, chunk: Any) -> Rows:
    if len(chunk) == 0:
        return Rows(0, chunk.shape[1], np.empty((4, 0), np.int32))
    with in_chunk(number):
        stack = as_stack(options.checked(chunk), session_of_worker(options.device), caller=options.caller)
        masks = Masks(stack, options.levels_of(stack.dtype, stack.integers), 0, 1)
        return Rows(stack.rows, stack.columns, packed_runs(masks))


def _rows_below(options: _Options, strips: list[Rows]) -> Rows:
    """The runs of strips, one below the other, as those of one strip."""
    firsts = np.cumsum([0, *(strip.rows for strip in strips)])
    moved = [strip.runs + np.array([0, first, 0, 0], np.int32)[:, None] for first, strip in zip(firsts, strips)]
    return Rows(int(firsts[-1]), strips[0].columns, runs_below(moved))


def _polygons(options: _Options, strip: Rows) -> CoveragePolygons:
    """The polygons of all runs."""
    stack, chosen, grid = _whole_of(options, strip)
    goal = in_cells(options.goal(), grid)
    arrays, exact = outlines_on_host(Masks(stack, chosen, 0, 1), goal, strip.runs)
    return CoveragePolygons(arrays, exact, grid, chosen.given, options.cells["direction"], ())


def _whole_of(options: _Options, strip: Strip | Rows) -> tuple[Stack, Levels, Grid]:
    """The raster that all strips are, without its values; the levels; the grid."""
    if strip.rows == 0:
        raise wrong("raster", options.caller, "a row", "chunks with none", verb="have")
    stack = Stack(
        session_of_worker(options.device), options.caller, options.canonical, 1, strip.rows, strip.columns, None
    )
    grid = as_grid(options.transform, options.crs, (strip.rows, strip.columns), caller=options.caller)
    return stack, options.levels_of(options.canonical), grid


# Stacks by maps ---------------------------------------------------------------------------------------------------


def _maps(options: _Options, number: int, chunk: Any) -> tuple[int, Any]:
    """The number of maps of a chunk, and their regions; None for no map."""
    maps = 1 if chunk.ndim == 2 else len(chunk)
    if maps == 0:
        return 0, None
    kinds = {"segments": options.segments, "parts": options.parts} if options.cells["outline"] == "segments" else {}
    regions_of_chunk: Callable[..., CoverageRegions | CoveragePolygons] = coverage_regions_of_chunk
    with in_chunk(number):
        found = regions_of_chunk(
            options.checked(chunk),
            options.levels,
            **options.cells,
            **kinds,
            **options.budgets,
            transform=options.transform,
            crs=options.crs,
            device=session_of_worker(options.device),
        )
    found.phases = ()
    return maps, found


def _one_after_another(options: _Options, parts: list[tuple[int, Any]]) -> tuple[int, Any]:
    """The regions of neighbouring chunks as those of one stack."""
    firsts = np.cumsum([0, *(maps for maps, _ in parts)]).tolist()
    held = [(first, found) for first, (_, found) in zip(firsts, parts) if found is not None]
    if len(held) < 2:  # chunks without a map have no regions
        return firsts[-1], held[0][1] if held else None
    first = held[0][1]
    facts = (first.grid, first.given, first.direction)
    if isinstance(first, CoverageRegions):
        groups = [replace(group, maps=group.maps + before) for before, found in held for group in found._groups]
        return firsts[-1], CoverageRegions(groups, *facts, ())
    pieces = [{name: getattr(found, name) for name in ARRAYS} for _, found in held]
    for piece, (before, _) in zip(pieces, held):
        piece["maps"] = piece["maps"] + before
    exact = sum(found.exact_vertices for _, found in held)
    return firsts[-1], CoveragePolygons(joined(pieces), exact, *facts, ())


def _taken(options: _Options, part: tuple[int, Any]) -> CoverageRegions | CoveragePolygons:
    found: CoverageRegions | CoveragePolygons | None = part[1]
    if found is None:
        raise wrong("raster", options.caller, "a map", "chunks with none", verb="have")
    return found
