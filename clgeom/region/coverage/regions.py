"""Regions of the covered cells of rasters: for every map, level and part a polygon that covers all its cells.

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

from clgeom.arguments import boolean, integer, one_of, real, wrong
from clgeom.core.call import Call
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InvalidInput, is_number, short
from clgeom.intake.device_arrays import let_change
from clgeom.intake.dispatch import dispatch
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.interop.rasters import Raster
from clgeom.intake.typing import AnyArray, ChunksLike, DevicesLike, FloatLike, IntLike
from clgeom.region.arc.chains import CUTS
from clgeom.region.coverage.extents import whole_regions
from clgeom.region.coverage.masks import CELLS_AT_ONCE, MaskWork, Segmentation, covered_cells
from clgeom.region.coverage.measures import CoverageResolutions
from clgeom.region.coverage.outlines import checked_goal, outline_cells
from clgeom.region.coverage.parts import regions_of_runs
from clgeom.region.coverage.result import CoverageRegions
from clgeom.region.rings.polygons import CoveragePolygons

#: Default number of segments of a region.
SEGMENTS = 64

if TYPE_CHECKING:
    from typing_extensions import TypedDict, Unpack

    class RegionOptions(TypedDict, total=False):
        """Options of `raster_regions`."""

        direction: Literal[">=", "<="]
        cuts: Literal["count", "width"]
        axis: Literal["x", "both"]
        parts: bool
        holes: FloatLike | None
        device: DevicesLike
        profile: bool

    class Position(TypedDict, total=False):
        """Attributes of a `Raster`."""

        transform: Any
        crs: Any
        nodata: FloatLike | None

    class SegmentOptions(RegionOptions, Position, total=False):
        """Options of `coverage_regions` for regions."""

    class CellOptions(Position, total=False):
        """Options of `coverage_regions` for outlines."""

        direction: Literal[">=", "<="]
        vertices: IntLike | None
        part_vertices: IntLike | None
        tolerance: FloatLike | None
        iou: FloatLike | None
        apart: bool
        device: DevicesLike
        profile: bool


@overload
def raster_regions(
    raster: AnyArray | ChunksLike | Raster,
    levels: FloatLike | Sequence[FloatLike],
    *,
    segments: Sequence[IntLike],
    **options: Unpack[RegionOptions],
) -> CoverageResolutions: ...
@overload
def raster_regions(
    raster: AnyArray | ChunksLike | Raster,
    levels: FloatLike | Sequence[FloatLike],
    *,
    segments: IntLike = ...,
    **options: Unpack[RegionOptions],
) -> CoverageRegions: ...
@keeps_subnormals
@takes_cuda
def raster_regions(
    raster: AnyArray | ChunksLike | Raster,
    levels: FloatLike | Sequence[FloatLike],
    *,
    direction: Literal[">=", "<="] = ">=",
    segments: IntLike | Sequence[IntLike] = SEGMENTS,
    cuts: Literal["count", "width"] = "count",
    axis: Literal["x", "both"] = "x",
    parts: bool = True,
    holes: FloatLike | None = None,
    device: DevicesLike = None,
    profile: bool = False,
) -> CoverageRegions | CoverageResolutions:
    """Regions of a chosen resolution around the cells of a raster that reach a level.

    Each is a valid polygon of few vertices that covers all its cells.

    Parameters
    ----------
    raster : array_like, pyopencl.array.Array or Raster, shape (rows, columns) or (maps, rows, columns)
        Numbers of any real type, or bool. NaN, masked cells and nodata are covered at no level. A `Raster` has the
        transform, reference system and nodata value of an array. Datasets of rasterio, DataArrays of xarray and radio
        maps have them, and the unit of their values. The name of a file that `clgeom region` reads is right, too, as is
        a list of files or datasets of the same cells, whose names the results have. Several arrays of pyopencl, in a
        list, are maps one after another, which may be on different devices, where they stay. An iterator or
        `clgeom.scale.Chunks` gives one raster in strips: arrays with some of its rows and all of its columns, from top
        to bottom, which need not fit in memory together. They are read once.
    levels : float or sequence of float
        Thresholds, such as -85 and -95 dBm.
    direction : {">=", "<="}
        Whether cells at or above a level are covered (received power), or those at or below it (path loss).
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
    device : optional
        As everywhere in clgeom. "all", or a list of devices, shares maps of the host out among them.
    profile : bool
        Measure each phase with the device's clock.

    Returns
    -------
    CoverageRegions or CoverageResolutions
        A sequence of CoverageRegion, ordered by map, by level as given, and by part from left to right. A region's
        polygon is computed at the first access. A level that no cell reaches has no parts. For several numbers of
        segments a sequence with CoverageRegions for each, and a table that compares them. `peak` is the memory that
        strips took.

    Raises
    ------
    InvalidInput
        For another shape, type, level, direction or number of segments, a transform without an inverse, or a reference
        system without a transform. For strips of different types or widths.
    DeviceLimit
        For a raster of float64 on a device without float64, or too little memory.

    See Also
    --------
    raster_outlines : Polygons along the sides of the cells.
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
    >>> regions = clgeom.raster_regions(raster, 5)
    >>> [(region.cells, region.area) for region in regions]
    [(3, 3.5), (2, 2.0)]
    >>> clgeom.raster_regions((raster[k : k + 1] for k in range(2)), 5).areas.tolist()
    [3.5, 2.0]
    """
    return _regions(
        raster,
        levels,
        direction=direction,
        segments=segments,
        cuts=cuts,
        axis=axis,
        parts=parts,
        holes=holes,
        device=device,
        profile=profile,
        caller="raster_regions",
    )


@overload
def coverage_regions(
    raster: AnyArray | ChunksLike | Raster,
    levels: FloatLike | Sequence[FloatLike],
    *,
    segments: Sequence[IntLike],
    outline: Literal["segments"] | None = ...,
    **options: Unpack[SegmentOptions],
) -> CoverageResolutions: ...
@overload
def coverage_regions(
    raster: AnyArray | ChunksLike | Raster,
    levels: FloatLike | Sequence[FloatLike],
    *,
    segments: IntLike,
    outline: Literal["segments"] | None = ...,
    **options: Unpack[SegmentOptions],
) -> CoverageRegions: ...
@overload
def coverage_regions(
    raster: AnyArray | ChunksLike | Raster,
    levels: FloatLike | Sequence[FloatLike],
    *,
    outline: Literal["segments"],
    **options: Unpack[SegmentOptions],
) -> CoverageRegions: ...
@overload
def coverage_regions(
    raster: AnyArray | ChunksLike | Raster,
    levels: FloatLike | Sequence[FloatLike],
    *,
    outline: Literal["cells"] | None = ...,
    **options: Unpack[CellOptions],
) -> CoveragePolygons: ...
@overload
def coverage_regions(
    raster: AnyArray | ChunksLike | Raster,
    levels: FloatLike | Sequence[FloatLike],
    *,
    outline: None = ...,
    **options: Unpack[SegmentOptions],
) -> CoverageRegions | CoveragePolygons: ...
@keeps_subnormals
@takes_cuda
def coverage_regions(
    raster: AnyArray | ChunksLike | Raster,
    levels: FloatLike | Sequence[FloatLike],
    *,
    direction: Literal[">=", "<="] = ">=",
    transform: Any = None,
    crs: Any = None,
    nodata: FloatLike | None = None,
    segments: IntLike | Sequence[IntLike] | None = None,
    cuts: Literal["count", "width"] = "count",
    axis: Literal["x", "both"] = "x",
    parts: bool = True,
    holes: FloatLike | None = None,
    outline: Literal["segments", "cells"] | None = None,
    vertices: IntLike | None = None,
    part_vertices: IntLike | None = None,
    tolerance: FloatLike | None = None,
    iou: FloatLike | None = None,
    apart: bool = False,
    device: DevicesLike = None,
    profile: bool = False,
) -> CoverageRegions | CoveragePolygons | CoverageResolutions:
    """Polygons of the cells of a raster that reach a level, by `raster_outlines` or by `raster_regions`.

    Polygons are exact, along the cells, unless a parameter asks for less detail. A number of segments, or another
    parameter for these, gives the outlines of few vertices of `raster_regions`.

    Parameters
    ----------
    raster, levels, direction, device, profile
        As for `raster_regions`.
    transform, crs, nodata : optional
        As for `Raster`; they replace those that `raster` has.
    segments, cuts, axis, parts, holes
        As for `raster_regions`, for ``outline="segments"`` only, which has 64 segments by default. Outlines of cells
        have all holes: ``holes=0`` is right for them, too.
    outline : {"cells", "segments"}, optional
        By default "segments" where a parameter for segments has another value than by default, else "cells".
    vertices, part_vertices, tolerance, iou, apart
        As for `raster_outlines`, for ``outline="cells"`` only.

    Returns
    -------
    CoverageRegions, CoveragePolygons or CoverageResolutions

    Raises
    ------
    InvalidInput
        As for these functions, and for parameters of the other kind of outline.
    DeviceLimit
        As for these functions.

    Examples
    --------
    >>> import clgeom
    >>> raster = [[9, 0, 0, 9], [9, 9, 0, 9]]
    >>> clgeom.coverage_regions(raster, 5, transform=(2, 0, 0, 0, -2, 4)).areas.tolist()
    [12.0, 8.0]
    >>> clgeom.coverage_regions(raster, 5, part_vertices=5)
    CoveragePolygons(2 polygons >= 5 of 2 x 4 cells, 9 vertices)
    >>> clgeom.coverage_regions(raster, 5, segments=64).areas.tolist()
    [3.5, 2.0]
    """
    caller = "coverage_regions"
    own: dict[str, Any] = {
        "segments": segments,
        "cuts": cuts,
        "axis": axis,
        "parts": boolean(parts, "parts", caller=caller),
    }
    budgets: dict[str, Any] = {"vertices": vertices, "part_vertices": part_vertices, "tolerance": tolerance, "iou": iou}
    budgets["apart"] = boolean(apart, "apart", caller=caller)
    outline = chosen_outline(outline, own, holes, budgets, caller=caller)
    if any(one is not None for one in (transform, crs, nodata)):
        raster = Raster(raster, transform, crs, nodata)
    shared: dict[str, Any] = {"direction": direction, "device": device, "profile": profile, "caller": caller}
    if outline == "cells":
        return outline_cells(raster, levels, checked_goal(**budgets, caller=caller), **shared)
    own["segments"] = SEGMENTS if segments is None else segments
    return _regions(raster, levels, **own, holes=holes, **shared)


def chosen_outline(
    outline: Any, segmentation: dict[str, Any], holes: Any, budgets: dict[str, Any], *, caller: str
) -> Literal["segments", "cells"]:
    """Return the `outline` parameter, by default as the others need it; refuse those for the other kind."""
    for_cells = [name for name, value in budgets.items() if value is not None and (name, value) != ("apart", False)]
    for_segments = [name for name, value in segmentation.items() if not _is_usual(name, value)]
    keeps_holes = holes is not None and holes is not False and not (is_number(holes) and holes == 0)
    if outline is None:
        outline = "segments" if not for_cells and (for_segments or keeps_holes) else "cells"
    if one_of(outline, ("segments", "cells"), "outline", caller=caller) == "segments":
        if for_cells:
            raise InvalidInput(
                f"The '{for_cells[0]}' parameter of {caller} is for outline='cells'. Got 'segments' instead."
            )
        return "segments"
    if for_segments:
        raise InvalidInput(
            f"The '{for_segments[0]}' parameter of {caller} is for outline='segments'. Got 'cells' instead."
        )
    if keeps_holes:
        raise InvalidInput(
            f"The 'holes' parameter of {caller} must be 0 or None for outline='cells'. Got {short(holes)}."
        )
    return "cells"


def _is_usual(name: str, value: Any) -> bool:
    usual = {"segments": None, "cuts": "count", "axis": "x", "parts": True}[name]
    return value is usual or (isinstance(value, (str, np.bool_)) and value == usual)


def _regions(
    raster: Any,
    levels: Any,
    *,
    direction: str,
    segments: Any,
    cuts: str,
    axis: str,
    parts: Any,
    holes: Any,
    device: Any,
    profile: bool,
    caller: str,
) -> CoverageRegions | CoverageResolutions:
    """Return the result of `raster_regions` for parameters that are not checked."""
    single, resolutions = _resolutions(segments, caller)
    one_of(cuts, CUTS, "cuts", caller=caller)
    one_of(axis, ("x", "both"), "axis", caller=caller)
    parts, call = boolean(parts, "parts", caller=caller), Call(caller, profile=profile)
    least = checked_holes(holes, caller=caller)
    cells = covered_cells(call, raster, levels, direction, device, whole=not single)
    least = None if least is None else least / cells.grid.cell_area
    segmentation, most = Segmentation(resolutions, cuts, axis == "both"), max(resolutions)
    are_counted = parts or least is not None
    if are_counted or cells.stacks[0].strips is not None:
        make = functools.partial(regions_of_runs, segmentation=segmentation, parts=parts, least=least)
        work = MaskWork(call, cells.masks, make, segments=most, cells=CELLS_AT_ONCE)
    else:
        make = functools.partial(whole_regions, segmentation=segmentation)
        work = MaskWork(call, cells.masks, make, segments=most, waits=False)
    with call:
        batches = dispatch(call, work)
        if not work.waits:
            for stack, array in zip(cells.stacks, cells.device_arrays):  # which the device may not have read yet
                let_change(stack.session, [array])
    found, phases, peak = [], tuple(call.phases), cells.peak
    for number in range(len(resolutions)):
        groups = [group for batch in batches for group in batch[number]]
        if not are_counted:  # `whole_regions` does not count cells, either
            groups = [replace(group, cells=None) for group in groups]
        found.append(CoverageRegions(groups, cells.grid, cells.levels.given, direction, phases))
        found[-1].peak = peak
    return found[0] if single else CoverageResolutions(found, resolutions, cells.stacks[0], cells.levels)


def _resolutions(segments: Any, caller: str) -> tuple[bool, tuple[int, ...]]:
    """Return whether one number of segments is given, and the numbers."""
    if type(segments) is not int and (isinstance(segments, (list, tuple, range)) or np.ndim(segments) == 1):
        numbers = tuple(integer(number, "segments", caller=caller) for number in segments)
        if not numbers or len(set(numbers)) < len(numbers):
            raise wrong("segments", caller, "a number, or different numbers", short(segments))
        return False, numbers
    return True, (integer(segments, "segments", caller=caller),)


def checked_holes(holes: Any, *, caller: str) -> float | None:
    """Return the `holes` parameter; None where holes stay covered."""
    if holes is None or holes is False:
        return None
    if not (is_number(holes) and holes >= 0):
        raise wrong("holes", caller, "the least area of a hole, 0 or more", short(holes))
    return min(real(holes), sys.float_info.max)
