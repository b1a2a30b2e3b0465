"""Coverage regions of rasters: for every map, level and part a polygon that covers all cells that reach the level.

Only corners of cells matter, and on each vertical grid line only the highest and the lowest. So one read of the raster
gives two numbers for each column and level (`extents`), and `chains` computes the outlines from these. Parts and holes
come from runs of covered cells in each column (`parts`). The device finds the ends of the runs, and a union-find joins
runs that touch.

All decisions are made in columns and rows, which are integers; the transform is applied last.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from clgeom.arguments import boolean, integer, one_of
from clgeom.core.call import recording
from clgeom.core.device import as_session
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import DeviceLimit, InvalidInput, is_number, short
from clgeom.intake.arrays import is_device_array
from clgeom.intake.chunks import as_chunks
from clgeom.intake.device_arrays import let_change
from clgeom.intake.interop.rasters import Raster, placed_raster
from clgeom.intake.several import are_parts
from clgeom.intake.typing import AnyArray, ChunksLike, DevicesLike, FloatLike, IntLike
from clgeom.region.arc.chains import CUTS
from clgeom.region.arc.result import checked_tolerance
from clgeom.region.coverage.batches import batches_of, jobs_of, made_of, maps_at_once, stacks_of
from clgeom.region.coverage.extents import whole_regions
from clgeom.region.coverage.grid import as_grid
from clgeom.region.coverage.job import CALLER
from clgeom.region.coverage.kept import kept_strips
from clgeom.region.coverage.parts import regions_of_runs
from clgeom.region.coverage.rasters import as_levels
from clgeom.region.coverage.resolutions import CoverageResolutions
from clgeom.region.coverage.result import CoverageRegions
from clgeom.region.rings.emission import arrays_of, emitted, joined
from clgeom.region.rings.on_device import DevicePolygons
from clgeom.region.rings.outward import Goal, simplified
from clgeom.region.rings.polygons import CoveragePolygons
from clgeom.region.rings.trace import rings_of

if TYPE_CHECKING:
    from typing_extensions import TypedDict, Unpack

    class Options(TypedDict, total=False):
        """Options of both kinds of outlines."""

        direction: Literal[">=", "<="]
        transform: Any
        crs: Any
        nodata: FloatLike | None
        device: DevicesLike
        profile: bool

    class SegmentOptions(Options, total=False):
        """Options of outlines with a number of segments."""

        cuts: Literal["count", "width"]
        axis: Literal["x", "both"]
        parts: bool
        holes: FloatLike | None

    class CellOptions(Options, total=False):
        """Options of polygons along the cells."""

        vertices: IntLike | None
        part_vertices: IntLike | None
        tolerance: FloatLike | None
        iou: FloatLike | None
        apart: bool


#: More vertices than any polygons have.
ANY_NUMBER = 1 << 62
#: Most cells of masks in one batch for parts.
CELLS_AT_ONCE = 1 << 26
#: For polygons along the cells more, where a device has so much memory for each.
CELL_BYTES = 128


@overload
def coverage_regions(
    raster: AnyArray | ChunksLike,
    levels: FloatLike | Sequence[FloatLike],
    *,
    outline: Literal["cells"],
    **options: Unpack[CellOptions],
) -> CoveragePolygons: ...
@overload
def coverage_regions(
    raster: AnyArray | ChunksLike,
    levels: FloatLike | Sequence[FloatLike],
    *,
    segments: Sequence[IntLike],
    outline: Literal["segments"] = ...,
    **options: Unpack[SegmentOptions],
) -> CoverageResolutions: ...
@overload
def coverage_regions(
    raster: AnyArray | ChunksLike,
    levels: FloatLike | Sequence[FloatLike],
    *,
    segments: IntLike = ...,
    outline: Literal["segments"] = ...,
    **options: Unpack[SegmentOptions],
) -> CoverageRegions: ...
@keeps_subnormals
def coverage_regions(
    raster: AnyArray | ChunksLike,
    levels: FloatLike | Sequence[FloatLike],
    *,
    direction: Literal[">=", "<="] = ">=",
    transform: Any = None,
    crs: Any = None,
    nodata: FloatLike | None = None,
    segments: IntLike | Sequence[IntLike] = 64,
    cuts: Literal["count", "width"] = "count",
    axis: Literal["x", "both"] = "x",
    parts: bool = True,
    holes: FloatLike | None = None,
    outline: Literal["segments", "cells"] = "segments",
    vertices: IntLike | None = None,
    part_vertices: IntLike | None = None,
    tolerance: FloatLike | None = None,
    iou: FloatLike | None = None,
    apart: bool = False,
    device: DevicesLike = None,
    profile: bool = False,
) -> CoverageRegions | CoveragePolygons | CoverageResolutions:
    """Polygons around the cells of a raster that reach a level. They are valid, cover every cell and have few vertices.

    Parameters
    ----------
    raster : array_like or pyopencl.array.Array, shape (rows, columns) or (maps, rows, columns)
        Numbers of any real type, or bool. NaN, masked cells and `nodata` are covered at no level. Datasets of rasterio,
        DataArrays of xarray and radio maps bring their transform, reference system, nodata value and the unit of their
        values. Several arrays of pyopencl, in a list, are maps one after another, which may be on different devices,
        where they stay. An iterator or `clgeom.scale.Chunks` gives one raster in strips: arrays with some of its rows
        and all of its columns, from top to bottom, which need not fit in memory together. They are read once.
    levels : float or sequence of float
        Thresholds, such as -85 and -95 dBm.
    direction : {">=", "<="}
        Whether cells at or above a level are covered (received power), or those at or below it (path loss).
    transform : sequence of 6 floats or affine.Affine, optional
        (a, b, c, d, e, f): pixel corner (column, row) is at ``x = a column + b row + c, y = d column + e row + f``, as
        Rasterio has it; it may turn and shear. Without it x is the column and y the row.
    crs : optional
        Coordinate reference system of the transformed coordinates, as anything that pyproj takes; for areas in km2 and
        for export. It needs a transform.
    nodata : float, optional
        Value of cells without data.
    segments : int or sequence of int
        Number of segments of each region: its resolution. 1 gives the convex hull. A region never has more segments
        than columns; ``region.segments`` is its number. Several numbers give regions of each, from one read of the
        raster.
    cuts : {"count", "width"}
        Segments of equally many occupied columns, or of equal width.
    axis : {"x", "both"}
        "both": the intersection with the region whose segments consist of rows, which does not fill bays. It may have
        several pieces, and its polygons need Shapely. The raster is read a second time, with rows and columns exchanged
        on the host.
    parts : bool
        Return one region for each connected part (cells that touch, corners included). Otherwise there is one region,
        maybe empty, for each map and level, which also covers the space between its parts.
    holes : float, optional
        Cut out holes (uncovered areas that coverage encloses) of at least this area, exactly along their cells. The
        area is in the square of the transformed coordinates' unit, or in cells without a transform. 0 cuts out all.
    outline : {"segments", "cells"}
        "segments": regions whose outline has a resolution, `segments`, as the notes say. "cells": polygons along the
        sides of cells, with all holes, one for each part of cells that share sides. Without one of the next four they
        are exact. With some of them they are simplified outwards: they cover every cell, holes shrink or vanish, and
        polygons of one level do not overlap. A polygon of a higher level is within one of the lower level.
    vertices, part_vertices : int, optional
        Most vertices of each map and level, or of each polygon; of all ways that were tried to get there, the one that
        adds the least area first. Vertices are counted before any reprojection.
    tolerance : float, optional
        Largest distance of the simplified polygons from the cells, in the unit of the transformed coordinates.
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
    CoverageRegions, CoveragePolygons or CoverageResolutions
        A sequence of CoverageRegion, ordered by map, by level as given, and by part from left to right. A region's
        polygon is computed at the first access. A level that no cell reaches has no parts. With ``outline="cells"``
        polygons as arrays of vertices and offsets, ordered by map, level, and part from top to bottom; for a raster on
        the device they stay there. For several numbers of segments a sequence with CoverageRegions for each, and a
        table that compares them. `peak` is the memory that strips took.

    Raises
    ------
    InvalidInput
        For another shape, type, level, direction or number of segments, a transform without an inverse, or a reference
        system without a transform. For fewer vertices than polygons need that cover their cells: the message says how
        many that is. For maps that share cells with ``apart=True``. For strips of different types or widths.
    DeviceLimit
        For a raster of float64 on a device without float64, or too little memory.

    See Also
    --------
    covered_area : Areas and weights alone.
    localize : What several regions have in common.
    clgeom.radio.coverage_map : A map to try it on.

    Notes
    -----
    A region is the union of the convex hulls of neighbouring segments of the cells' corners, as for `adaptive_region`.
    It is the same on every device. Where two tangents cross, the crossing is rounded outward by at most one
    unit in the last place of float32.

    With ``parts=False`` and without holes, a call on maps that are on a GPU does not wait for it: what first asks for a
    region does. The maps may change at once in commands of their queue.

    Examples
    --------
    >>> import clgeom, numpy as np
    >>> raster = np.array([[9, 0, 0, 9], [9, 9, 0, 9]])
    >>> regions = clgeom.coverage_regions(raster, 5)
    >>> [(region.cells, region.area) for region in regions]
    [(3, 3.5), (2, 2.0)]
    >>> clgeom.coverage_regions(raster, 5, outline="cells", part_vertices=5)
    CoveragePolygons(2 polygons >= 5 of 2 x 4 cells, 9 vertices)
    >>> clgeom.coverage_regions((raster[k : k + 1] for k in range(2)), 5).areas.tolist()
    [3.5, 2.0]
    """
    single, resolutions = _resolutions(segments)
    one_of(cuts, CUTS, "cuts", caller=CALLER)
    one_of(axis, ("x", "both"), "axis", caller=CALLER)
    one_of(outline, ("segments", "cells"), "outline", caller=CALLER)
    parts, profile = boolean(parts, "parts", caller=CALLER), boolean(profile, "profile", caller=CALLER)
    apart = boolean(apart, "apart", caller=CALLER)
    own = {"segments": (resolutions, (64,)), "cuts": (cuts, "count"), "axis": (axis, "x"), "parts": (parts, True)}
    _check_outline(outline, own, holes, (vertices, part_vertices, tolerance, iou, apart or None))
    whole = apart or not single  # these compare cells on the host
    chunks, kept = as_chunks(raster), None
    if chunks is None:
        placed = placed_raster(raster, caller=CALLER, transform=transform, crs=crs, nodata=nodata, strips=not whole)
    else:
        device = as_session(device)
        system = chunks.crs if crs is None else crs
        grid = as_grid(transform, system, (1, 1), caller=CALLER)  # what can be refused is, before the strips are read
        _goal(vertices, part_vertices, tolerance, iou, grid)
        _least_cells(holes, grid.cell_area)
        as_levels(levels, direction, nodata, np.dtype(np.float64), caller=CALLER)
        kept = kept_strips(chunks, levels, direction, nodata, device)
        placed = Raster(kept.strips, transform, system)
    stacks = stacks_of(placed.values, device)
    stack = stacks[0]
    if kept is None:
        chosen = as_levels(
            levels, direction, placed.nodata, stack.dtype, caller=CALLER, integers=all(one.integers for one in stacks)
        )
    else:
        chosen = kept.levels
    shape = stack.rows, stack.columns
    grid = as_grid(placed.transform, placed.crs, shape, caller=CALLER, unit=placed.unit)
    if outline == "cells":
        goal = replace(_goal(vertices, part_vertices, tolerance, iou, grid), apart=apart)
        if apart:
            if stack.array is None and len(stacks) > 1:
                raise InvalidInput(f"The 'apart' parameter of {CALLER} is for maps in one array. Got {len(stacks)}.")
            _check_apart(stack, chosen)
        polygons = _polygons(jobs_of(stacks, chosen, False, 1, cuts), grid, goal, profile, placed.values)
        polygons.peak = None if kept is None else kept.peak(stack.session)
        return polygons
    least = _least_cells(holes, grid.cell_area)
    jobs = jobs_of(stacks, chosen, axis == "both", max(resolutions), cuts)
    groups: list[list] = [[] for _ in resolutions]
    with recording(profile) as phases:
        if parts or least is not None or stack.strips is not None:
            runs = functools.partial(regions_of_runs, resolutions=resolutions, parts=parts, least=least)
            for several in made_of(jobs, runs, cells_at_once=CELLS_AT_ONCE):
                for own, made in zip(groups, several):
                    # as `whole_regions` returns them, which do not count cells
                    own += made if parts or least is not None else [replace(one, cells=None) for one in made]
        else:
            for several in made_of(jobs, functools.partial(whole_regions, resolutions=resolutions), waits=False):
                for own, one in zip(groups, several):
                    own.append(one)
            sources = placed.values if are_parts(placed.values) else [placed.values]
            for job, source in zip(jobs, sources):
                if is_device_array(source):  # which the device may not have read yet
                    let_change(job.session, [source])
    found = [CoverageRegions(own, grid, chosen.given, direction, tuple(phases)) for own in groups]
    for one in found:
        one.peak = None if kept is None else kept.peak(stack.session)
    return found[0] if single else CoverageResolutions(found, resolutions, stack, chosen)


def _resolutions(segments):
    """Whether one number of segments is given, and the numbers."""
    if type(segments) is not int and (isinstance(segments, (list, tuple, range)) or np.ndim(segments) == 1):
        numbers = tuple(integer(number, "segments", caller=CALLER) for number in segments)
        if not numbers or len(set(numbers)) < len(numbers):
            raise InvalidInput(
                f"The 'segments' parameter of {CALLER} must be a number, or different numbers. Got {segments!r}."
            )
        return False, numbers
    return True, (integer(segments, "segments", caller=CALLER),)


def _check_outline(outline, own, holes, budgets):
    """Refuse parameters that are of the other kind of outline; `own` are those of segments, with their defaults."""
    if outline == "segments":
        names = ("vertices", "part_vertices", "tolerance", "iou", "apart")
        given = [name for name, value in zip(names, budgets) if value is not None]
        if given:
            raise InvalidInput(
                f"The '{given[0]}' parameter of {CALLER} is for outline='cells'. Got 'segments' instead."
            )
        return
    for name, (value, usual) in own.items():
        if value != usual:
            raise InvalidInput(f"The '{name}' parameter of {CALLER} is for outline='segments'. Got 'cells' instead.")
    if holes is not None and holes is not False and not (is_number(holes) and holes == 0):
        raise InvalidInput(
            f"The 'holes' parameter of {CALLER} must be 0 or None for outline='cells'. Got {short(holes)}."
        )


def _goal(vertices, part_vertices, tolerance, iou, grid):
    """The budgets of a simplification, the distance in cells."""
    counts = [
        None if count is None else min(integer(count, name, caller=CALLER), ANY_NUMBER)
        for name, count in (("vertices", vertices), ("part_vertices", part_vertices))
    ]
    if tolerance is not None:
        tolerance = _finite(checked_tolerance(tolerance, caller=CALLER))
        a, b, _, d, e, _ = grid.transform
        tolerance /= float(np.linalg.norm(np.array([[a, b], [d, e]]), 2))
    if iou is not None:
        if not (is_number(iou) and 0 < iou <= 1 and float(iou) > 0):
            raise InvalidInput(
                f"The 'iou' parameter of {CALLER} must be above 0 and at most 1. Got {short(iou)} instead."
            )
        iou = float(iou)
    return Goal(*counts, tolerance, iou)


def _check_apart(stack, levels):
    """Refuse maps that share covered cells."""
    for k, level in enumerate(levels.given):
        seen = np.zeros((stack.rows, stack.columns), bool)
        for number in range(stack.maps):
            mask = levels.mask(stack.map(number), k)
            if (seen & mask).any():
                row, column = np.argwhere(seen & mask)[0].tolist()
                raise InvalidInput(
                    f"The 'raster' parameter of {CALLER} must have maps that share no covered cells for apart=True. "
                    f"Got the cell ({row}, {column}) in map {number} and in one before, at level {level:g}."
                )
            seen |= mask


def _polygons(jobs, grid, goal, profile, given):
    """The polygons of all cells, in batches of maps; on the device if the given raster is one array there."""
    job, on_device = jobs[0], is_device_array(given)
    most = max(CELLS_AT_ONCE, job.session.profile.global_mem_bytes // CELL_BYTES)
    if goal.apart:  # one device simplifies them, together
        jobs = [job] if job.stack.array is not None else jobs
        if maps_at_once(job, most) < job.stack.maps:
            raise DeviceLimit(f"{CALLER} takes maps that stay apart all at once, and these are too large for that.")
    with recording(profile) as phases:
        if len(jobs) == 1:
            made = []
            for masks in batches_of(job, cells_at_once=most):
                made += _emitted(masks, goal, made)
            queue = (given.queue if on_device else None) or job.session.queue
            arrays = arrays_of(job.session, made, queue, on_device=on_device)
            exact = sum(one.exact_corners for one in made)
        else:
            pieces = list(made_of(jobs, lambda masks: _on_host(masks, goal), cells_at_once=CELLS_AT_ONCE))
            arrays, exact = joined([piece for piece, _ in pieces]), sum(count for _, count in pieces)
    kind = DevicePolygons if on_device else CoveragePolygons
    polygons = kind(arrays, exact, grid, job.levels.given, "<=" if job.levels.below else ">=", tuple(phases))
    polygons.apart = goal.apart
    return polygons


def _on_host(masks, goal, runs=None):
    """The arrays of the polygons of some masks, and the number of corners before they were simplified.

    `runs` are those in the rows of a raster that is not there itself.
    """
    made = _emitted(masks, goal, [], runs)
    return arrays_of(masks.job.session, made, on_device=False), sum(one.exact_corners for one in made)


def _emitted(masks, goal, before, runs=None):
    """The polygons of some masks, that follow others, in a list; of halves of the maps if memory is short."""
    made, pending = [], [masks]
    while pending:
        some = pending.pop()
        try:
            rings = rings_of(some, runs)
            if rings is None:  # nothing is covered
                continue
            taken = simplified(rings, goal, below=some.job.levels.below, caller=CALLER) if goal.is_set else None
            made.append(emitted(rings, [*before, *made], taken))
        except DeviceLimit:
            if some.maps == 1 or goal.apart:
                raise
            pending += reversed(some.halves())
    return made


def _least_cells(holes, cell_area):
    """The `holes` parameter in cells; None where holes stay covered."""
    if holes is None or holes is False:
        return None
    if not (is_number(holes) and holes >= 0):
        raise InvalidInput(
            f"The 'holes' parameter of {CALLER} must be the least area of a hole, 0 or more. "
            f"Got {short(holes)} instead."
        )
    return _finite(holes) / cell_area


def _finite(number):
    """A number of any real type, 0 or more, as a finite float."""
    try:
        return min(float(number), sys.float_info.max)
    except OverflowError:
        return sys.float_info.max
