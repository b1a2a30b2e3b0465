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
from clgeom.region.coverage.outlines import checked_goal, goal_in_cells, outlines_on_host
from clgeom.region.coverage.parts import regions_of
from clgeom.region.coverage.rasters import Levels, Stack, as_levels, as_stack, canonical_raster
from clgeom.region.coverage.regions import SEGMENTS, checked_holes, chosen_outline
from clgeom.region.coverage.regions import coverage_regions as coverage_regions_of_chunk
from clgeom.region.coverage.result import CoverageRegions
from clgeom.region.coverage.runs import Runs, covered_runs
from clgeom.region.rings.budgets import Goal
from clgeom.region.rings.emission import ARRAYS, joined
from clgeom.region.rings.polygons import CoveragePolygons
from clgeom.region.rings.runs import packed_runs, runs_below

#: ``leaf``, ``join`` and ``finish`` of `tree`.
Steps: TypeAlias = tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]
#: Parameters that a function does not have.
SEGMENTATION = {"segments": SEGMENTS, "cuts": "count", "axis": "x", "parts": True}
BUDGETS = dict.fromkeys(("vertices", "part_vertices", "tolerance", "iou"))


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
    return _lazy("dask.raster_regions", raster, levels, direction, graph, segmentation=segmentation, holes=holes)


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
    return _lazy("dask.raster_outlines", raster, levels, direction, graph, outline="cells", budgets=budgets)


@keeps_subnormals
def coverage_regions(
    raster: Any,
    levels: FloatLike | Sequence[FloatLike],
    *,
    direction: Literal[">=", "<="] = ">=",
    transform: Any = None,
    crs: Any = None,
    nodata: FloatLike | None = None,
    segments: IntLike | None = None,
    cuts: Literal["count", "width"] = "count",
    axis: Literal["x", "both"] = "x",
    parts: bool = True,
    holes: FloatLike | None = None,
    outline: Literal["segments", "cells"] | None = None,
    vertices: IntLike | None = None,
    part_vertices: IntLike | None = None,
    tolerance: FloatLike | None = None,
    iou: FloatLike | None = None,
    device: str | None = None,
    split_every: int = SPLIT_EVERY,
    resources: dict[str, float] | None = None,
) -> Delayed:
    """Polygons of the cells of a raster that reach a level, by `raster_outlines` or by `raster_regions`; lazily.

    Parameters
    ----------
    raster, levels, direction
        As for `raster_regions`.
    transform, crs, nodata : optional
        As for `clgeom.Raster`; they replace those that `raster` has.
    segments, cuts, axis, parts, holes
        As for `raster_regions`, for ``outline="segments"`` only.
    outline : {"cells", "segments"}, optional
        As for `clgeom.coverage_regions`.
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
    >>> clgeom.dask.coverage_regions(raster, 5).compute().areas.tolist()
    [3.0, 2.0]
    >>> regions = clgeom.dask.coverage_regions(raster, 5, segments=64).compute()
    >>> [(region.cells, region.area) for region in regions]
    [(3, 3.5), (2, 2.0)]
    """
    own: dict[str, Any] = {"segments": segments, "cuts": cuts, "axis": axis}
    own["parts"] = boolean(parts, "parts", caller="dask.coverage_regions")
    budgets = {"vertices": vertices, "part_vertices": part_vertices, "tolerance": tolerance, "iou": iou}
    outline = chosen_outline(outline, own, holes, budgets, caller="dask.coverage_regions")
    own["segments"] = SEGMENTS if segments is None else segments
    options: dict[str, Any] = {"segmentation": own, "holes": holes, "outline": outline, "budgets": budgets}
    graph: dict[str, Any] = {"device": device, "split_every": split_every, "resources": resources}
    raster = Raster(raster, transform, crs, nodata)
    return _lazy("dask.coverage_regions", raster, levels, direction, graph, **options)


@dataclass(frozen=True)
class _Options:
    """The checked options of a call, which tasks get."""

    caller: str
    device: str | None
    levels: Any
    direction: str
    outline: str
    segmentation: dict[str, Any]
    holes: Any
    budgets: dict[str, Any]
    dtype: str
    nodata: Any
    transform: tuple[float, ...] | None
    crs: Any

    @property
    def canonical(self) -> np.dtype[Any]:
        """The type in which cells are compared."""
        return canonical_raster(np.zeros((1, 1), self.dtype), caller=self.caller).dtype

    @property
    def goal(self) -> Goal:
        return checked_goal(**self.budgets, caller=self.caller)

    def levels_of(self, dtype: np.dtype[Any], integers: bool = False) -> Levels:
        return as_levels(self.levels, self.direction, self.nodata, dtype, caller=self.caller, integers=integers)

    def checked(self, chunk: Any) -> Any:
        """Return the chunk, if it has the type that the collection says."""
        if np.dtype(chunk.dtype).newbyteorder("=") != self.dtype:
            expected = f"chunks of one type, {self.dtype} as the collection says"
            raise wrong("raster", self.caller, expected, chunk.dtype, verb="have")
        return chunk


def _lazy(
    caller: str,
    raster: Any,
    levels: Any,
    direction: str,
    graph: dict[str, Any],
    *,
    outline: str = "segments",
    segmentation: dict[str, Any] = SEGMENTATION,
    holes: Any = None,
    budgets: dict[str, Any] = BUDGETS,
) -> Delayed:
    """Return the graph of a public function; `graph` has its device, split_every and resources."""
    device = checked_device(graph.pop("device"), caller=caller)
    placed = raster if isinstance(raster, Raster) else Raster(raster)
    array = placed.values
    if not is_array(array):
        expected = f"a dask.array.Array; clgeom.{caller.removeprefix('dask.')} takes others"
        raise wrong("raster", caller, expected, type(array).__name__)
    if array.ndim not in (2, 3) or 0 in array.shape:
        expected = "shape (rows, columns) or (maps, rows, columns), none of them 0"
        raise wrong("raster", caller, expected, array.shape, verb="have")
    one_of(segmentation["cuts"], CUTS, "cuts", caller=caller)
    one_of(segmentation["axis"], ("x", "both"), "axis", caller=caller)
    rows, columns = (1 if math.isnan(size) else size for size in array.shape[-2:])
    grid = as_grid(placed.transform, placed.crs, (rows, columns), caller=caller, unit=placed.unit)
    segments = integer(segmentation["segments"], "segments", caller=caller)
    parts = boolean(segmentation["parts"], "parts", caller=caller)
    segmentation = {**segmentation, "segments": segments, "parts": parts}
    options = _Options(
        caller=caller,
        device=device,
        levels=levels.tolist() if isinstance(levels, np.ndarray) else levels,  # which has a name, and is compared
        direction=direction,
        outline=outline,
        segmentation=segmentation,
        holes=holes,
        budgets=budgets,
        dtype=array.dtype.newbyteorder("=").name,
        nodata=placed.nodata,
        transform=None if placed.transform is None else grid.transform,
        crs=placed.crs,
    )
    options.levels_of(options.canonical)  # raises the errors of the levels, like the next two lines
    checked_holes(holes, caller=caller)
    checked_goal(**budgets, caller=caller)
    by_strips = array.ndim == 2
    try:
        array = array.rechunk({1: -1} if by_strips else {1: -1, 2: -1})
    except ValueError as error:
        raise wrong("raster", caller, "of known chunk sizes here, to join chunks", f"{array.shape}") from error
    steps: Steps = (_strip, _joined_strips, _regions if outline == "segments" else _polygons)
    if not by_strips:
        steps = _maps, _joined_maps, _regions_of_maps
    name = name_of(caller.removeprefix("dask.").replace("_", "-"), [array], options, graph["split_every"])
    return tree(name, *steps, options, [blocks_of(array)], **graph, caller=caller)


# One raster by strips ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Strip:
    """The runs of covered cells of some rows, all columns; rows count from the first of them.

    Runs are columns of level, line, first and last cell, ordered by these. The lines of `down` are columns of cells
    (None for outline="cells"), those of `across` are rows (None for outline="segments" with axis="x").
    """

    rows: int
    columns: int
    down: NDArray[np.int32] | None
    across: NDArray[np.int32] | None


def _strip(options: _Options, number: int, chunk: Any) -> Strip:
    has_down = options.outline == "segments"
    has_across = not has_down or options.segmentation["axis"] == "both"
    if len(chunk) == 0:
        nothing = np.empty((4, 0), np.int32)
        return Strip(0, chunk.shape[1], nothing if has_down else None, nothing if has_across else None)
    with in_chunk(number):
        stack = as_stack(options.checked(chunk), session_of_worker(options.device), caller=options.caller)
        masks = Masks(stack, options.levels_of(stack.dtype, stack.integers), 0, 1)
        down = None
        if has_down:
            runs = covered_runs(masks)
            down = np.stack([*np.divmod(runs.column, runs.width), runs.top, runs.bottom]).astype(np.int32)
        return Strip(stack.rows, stack.columns, down, packed_runs(masks) if has_across else None)


def _joined_strips(options: _Options, strips: list[Strip]) -> Strip:
    """Return the runs of strips, one below the other, as those of one strip."""
    firsts = np.cumsum([0, *(strip.rows for strip in strips)])
    moves = np.array([[[0], [0], [first], [first]] for first in firsts], np.int32)  # by rows, of cells in columns
    downs = [strip.down + move for strip, move in zip(strips, moves) if strip.down is not None]
    lines = [strip.across + move[[0, 2, 0, 0]] for strip, move in zip(strips, moves) if strip.across is not None]
    down = _continued(downs) if downs else None
    across = runs_below(lines) if lines else None
    return Strip(int(firsts[-1]), strips[0].columns, down, across)


def _continued(strips: list[NDArray[np.int32]]) -> NDArray[np.int32]:
    """Return the runs in columns of strips, joined where one begins in the row below another."""
    runs = np.concatenate(strips, axis=1)
    level, line, top, bottom = runs = runs[:, np.lexsort(runs[2::-1])]
    goes_on = (level[1:] == level[:-1]) & (line[1:] == line[:-1]) & (top[1:] == bottom[:-1] + 1)
    begins, ends = np.r_[True, ~goes_on][: len(level)], np.r_[~goes_on, True][: len(level)]
    return np.concatenate([runs[:3, begins], runs[3:, ends]])


def _regions(options: _Options, strip: Strip) -> CoverageRegions:
    """Return the regions of all runs."""
    masks, grid = _whole_raster(options, strip)
    segments, cuts, _, parts = options.segmentation.values()
    holes = checked_holes(options.holes, caller=options.caller)
    least = None if holes is None else holes / grid.cell_area
    count = len(masks.levels.given)
    width, height, across = strip.columns, strip.rows, None
    down = _unpacked(strip.down, width, height, count)  # type: ignore[arg-type]  # not None for segments
    if strip.across is not None:
        across = _unpacked(strip.across, height, width, count)
    segmentation = Segmentation((segments,), cuts, across is not None)
    groups = regions_of(masks, down, across, segmentation, parts=parts, least=least)[0]
    if not parts and least is None:  # cells are not counted then
        groups = [replace(group, cells=None) for group in groups]
    return CoverageRegions(groups, grid, masks.levels.given, options.direction, ())


def _unpacked(packed: NDArray[np.int32], width: int, height: int, levels: int) -> Runs:
    level, line, first, last = packed.astype(np.int64)
    return Runs(level * width + line, first, last, width, levels * width, height)


def _polygons(options: _Options, strip: Strip) -> CoveragePolygons:
    """Return the polygons of all runs."""
    masks, grid = _whole_raster(options, strip)
    arrays, exact = outlines_on_host(masks, goal_in_cells(options.goal, grid), strip.across)
    return CoveragePolygons(arrays, exact, grid, masks.levels.given, options.direction, ())


def _whole_raster(options: _Options, strip: Strip) -> tuple[Masks, Grid]:
    """Return the masks of the raster that all strips are, without its values, and its grid."""
    rows, columns = strip.rows, strip.columns
    if rows == 0:
        raise wrong("raster", options.caller, "a row", "chunks with none", verb="have")
    stack = Stack(session_of_worker(options.device), options.caller, options.canonical, 1, rows, columns, None)
    grid = as_grid(options.transform, options.crs, (rows, columns), caller=options.caller)
    return Masks(stack, options.levels_of(options.canonical), 0, 1), grid


# Stacks by maps ---------------------------------------------------------------------------------------------------

#: The number of maps of a chunk, and their regions; None for no map.
Maps: TypeAlias = tuple[int, Any]


def _maps(options: _Options, number: int, chunk: Any) -> Maps:
    if len(chunk) == 0:
        return 0, None
    with in_chunk(number):
        names = "direction", "nodata", "outline", "holes", "transform", "crs"
        parameters: dict[str, Any] = {name: getattr(options, name) for name in names}
        parameters |= options.segmentation if options.outline == "segments" else options.budgets
        parameters["device"] = session_of_worker(options.device)
        found = coverage_regions_of_chunk(options.checked(chunk), options.levels, **parameters)
    found.phases = ()
    return len(chunk), found


def _joined_maps(options: _Options, parts: list[Maps]) -> Maps:
    """Return the regions of neighbouring chunks as those of one stack."""
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


def _regions_of_maps(options: _Options, part: Maps) -> CoverageRegions | CoveragePolygons:
    found: CoverageRegions | CoveragePolygons | None = part[1]
    if found is None:
        raise wrong("raster", options.caller, "a map", "chunks with none", verb="have")
    return found
