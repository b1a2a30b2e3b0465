"""Adaptive regions of points: an outline tighter than the convex hull that loses no point.

Points in lexicographic order are cut into segments of whole columns; the region is the union of the convex hulls of
neighbouring segments. See :doc:`/explanation/region` for the definition and the proofs.

Source: the adaptive region construction (ARC) for radio propagation maps, with its join made exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np

from clgeom.arguments import boolean, integer, one_of, wrong
from clgeom.core.call import Call
from clgeom.core.device import Session
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import run
from clgeom.core.plan import Phase, Plan, Scratch, Step
from clgeom.errors import short
from clgeom.geo.longitudes import turn_of_crs
from clgeom.hull.antimeridian import warn_across
from clgeom.hull.lexsort import lexsort
from clgeom.hull.wagener.order import first_out_of_order, require_order
from clgeom.intake.arrays import (
    Chunk,
    DeviceArray,
    c_name,
    refuse_nonfinite,
    session_of,
    to_device,
)
from clgeom.intake.chunks import Chunks, as_chunks
from clgeom.intake.points import take_points
from clgeom.intake.typing import AnyArray, ChunksLike, DeviceLike, FloatLike, IntLike, Nonfinite
from clgeom.primitives.extremes import is_finite
from clgeom.region.arc.chains import CUTS, KERNELS, Outline, chains_of, outline_of
from clgeom.region.arc.chunked import Passes, checked_bounds, outline_of_hulls, outlines_of_chunks, widths
from clgeom.region.arc.outline_plans import OutlineOptions
from clgeom.region.arc.result import CrossRegion, Region

CALLER = "adaptive_region"
AXES = ("x", "y", "both")
#: Most segments for cuts="width": above, k / segments is not exact in float32.
MOST_WIDTHS = 1 << 24


#: How points are cut into segments.
Cuts: TypeAlias = Literal["count", "width"]

if TYPE_CHECKING:
    from typing_extensions import TypedDict, Unpack

    class Options(TypedDict, total=False):
        """The parameters of `adaptive_region` that do not affect the type of its result."""

        cuts: Cuts
        nonfinite: Nonfinite
        assume_sorted: bool
        bounds: Sequence[FloatLike] | None
        device: DeviceLike
        profile: bool


@overload
def adaptive_region(
    points: AnyArray | ChunksLike, segments: IntLike, *, axis: Literal["x", "y"] = ..., **options: Unpack[Options]
) -> Region: ...
@overload
def adaptive_region(
    points: AnyArray | ChunksLike, segments: IntLike, *, axis: Literal["both"], **options: Unpack[Options]
) -> CrossRegion: ...
@keeps_subnormals
def adaptive_region(
    points: AnyArray | ChunksLike,
    segments: IntLike,
    *,
    cuts: Cuts = "count",
    axis: Literal["x", "y", "both"] = "x",
    nonfinite: Nonfinite = "raise",
    assume_sorted: bool = False,
    bounds: Sequence[FloatLike] | None = None,
    device: DeviceLike = None,
    profile: bool = False,
) -> Region | CrossRegion:
    """Region of points that follows their outline: the union of the convex hulls of neighbouring segments.

    Parameters
    ----------
    points : array_like or pyopencl.array.Array, shape (n, 2)
        float32, float64, int32, or what fits one of them. Points of a masked array with a masked coordinate are left
        out. `clgeom.scale.Chunks` give points in chunks, which need not fit in memory together. They are read several
        times; an iterator, which can be read once, needs ``cuts="width"`` and `bounds`.
    segments : int
        Number of segments along the axis, at least 1: the resolution. 1 and 2 give the convex hull. There are never
        more segments than columns of equal x; see `Region.segments`.
    cuts : {"count", "width"}
        Segments of equally many points, or of equal width. A cut inside a column moves to the beginning of the column.
    axis : {"x", "y", "both"}
        Segments along x, or along y. "both": the intersection of the two regions, a `CrossRegion`, which may have
        several parts (its polygons need Shapely).
    nonfinite : {"raise", "drop"}
        What to do with points that have a NaN or infinite coordinate.
    assume_sorted : bool
        The points are in lexicographic order: by x, and by y where x is equal. This is checked. Not for chunks.
    bounds : (xmin, ymin, xmax, ymax), optional
        For ``cuts="width"``: segments have equal widths from the one bound to the other, not from the least to the
        greatest coordinate. All points must be within. Chunks of one type are then read once.
    device : str, pyopencl.Device or Session, optional
        As everywhere in clgeom.
    profile : bool
        Measure each phase with the device's clock.

    Returns
    -------
    Region or CrossRegion
        A `Region` contains every point. Its vertices are points, and crossings of tangents rounded outward. `peak` is
        the memory that chunks took.

    Raises
    ------
    InvalidInput
        For another shape, an unsupported type, a NaN or infinity (nonfinite="raise"), points out of order where order
        is claimed, or fewer than one segment. For an iterator that is to be read several times, chunks that change
        between two readings, or points outside of the bounds.
    DeviceLimit
        For float64 points on a device without float64.

    See Also
    --------
    convex_hull : The region of one segment.
    coverage_regions : Regions of the cells of a raster.

    Examples
    --------
    >>> import clgeom
    >>> points = [(0, 0), (0, 4), (1, 1), (2, 1), (3, 1), (4, 0), (4, 4)]
    >>> clgeom.adaptive_region(points, 1).area, clgeom.adaptive_region(points, 5).area
    (16.0, 6.0)
    """
    found: Region | CrossRegion = region_of(
        points,
        segments,
        cuts=cuts,
        axis=axis,
        nonfinite=nonfinite,
        assume_sorted=assume_sorted,
        device=device,
        profile=profile,
        bounds=bounds,
    )
    return found


def region_of(
    points: Any,
    segments: IntLike,
    *,
    cuts: Cuts,
    axis: str,
    nonfinite: Nonfinite,
    assume_sorted: bool,
    device: DeviceLike,
    profile: bool,
    join: str = "tangent",
    kernel: str = "auto",
    made: type[Any] = Region,
    bounds: Any = None,
) -> Any:
    """The result of `adaptive_region`, with the options that clgeom.region.arc.study compares.

    `join` and `kernel` are those of `OutlineOptions`; `made` is the class of the result.
    """
    segments = integer(segments, "segments", caller=CALLER)
    for name, value, choices in (("cuts", cuts, CUTS), ("axis", axis, AXES), ("kernel", kernel, KERNELS)):
        one_of(value, choices, name, caller=CALLER)
    if boolean(assume_sorted, "assume_sorted", caller=CALLER) and axis != "x":
        raise wrong("axis", CALLER, "'x' with assume_sorted", short(axis))
    if cuts == "width" and segments > MOST_WIDTHS:
        raise wrong("segments", CALLER, f"at most {MOST_WIDTHS:,} with cuts='width'", f"{segments:,}")
    chunks, bounds = as_chunks(points), checked_bounds(bounds, cuts, caller=CALLER)
    if chunks is None and bounds is not None:
        chunks = Chunks([points], copy=False)
    if chunks is not None:
        if assume_sorted:
            raise wrong("assume_sorted", CALLER, "False for chunks or bounds", "True")
        options = {"cuts": cuts, "join": join, "kernel": kernel}
        session, axes = session_of(points, device), "xy" if axis == "both" else axis
        return _region_of_chunks(chunks, segments, cuts, axes, bounds, nonfinite, options, session, made, profile)
    call = Call(CALLER, profile=profile)
    given = take_points(call, points, device=device, nonfinite=nonfinite, is_finite=is_finite, shared=False)
    array, crs = given.on(call.session), given.crs
    options = {"cuts": cuts, "join": join, "kernel": kernel}
    axes = "xy" if axis == "both" else axis
    found = [_region_along(array, segments, one, len(given), assume_sorted, options, made, profile) for one in axes]
    if crs is not None:
        for region in found:
            region.crs = crs
        warn_across(found[0], given.source, turn_of_crs(crs), caller=CALLER)
    return CrossRegion(*found) if axis == "both" else found[0]


def _region_along(
    points: DeviceArray,
    segments: int,
    axis: str,
    n: int,
    assume_sorted: bool,
    options: dict[str, Any],
    made: type[Any],
    profile: bool,
) -> Any:
    """The region of a DeviceArray along one axis."""
    session, dtype = points.session, points.dtype
    facts = {"n": n, "axis": axis, "session": session}
    if points.n == 0:
        return made(np.empty((0, 2), dtype), np.empty((0, 2), dtype), segments=0, **facts)
    call = Call(CALLER, profile=profile)
    with call:
        outline = _outline_along(points, segments, axis, assume_sorted, options)
    return _as_result(outline, tuple(call.phases), dtype, facts, made)


def _outline_along(
    points: DeviceArray, segments: int, axis: str, assume_sorted: bool, options: dict[str, Any]
) -> Outline:
    """The Outline of a DeviceArray along one axis."""
    if len(points.chunks) > 1:
        return _outline_of_chunks(points, segments, axis, assume_sorted, options)
    session, dtype = points.session, points.dtype
    if axis == "y":
        points = _swapped(points)
    if options["cuts"] == "count":
        segments = min(segments, points.n)
    rows: str | Scratch = "points[0]"
    bound: dict[str, Any] = points.bindings("points")
    if not assume_sorted:
        if not _in_order(points):
            ordered, _, rows = lexsort(points, None, points.n)
            bound = {rows.name: ordered[rows]}
    described = OutlineOptions(dtype, points.n, rows, rows, segments, check=assume_sorted, **options)
    outline = outline_of(session, described, **bound)
    if outline.disordered:
        require_order(points, caller=CALLER, drop=True)
    return outline


def _as_result(
    outline: Outline, phases: tuple[Phase, ...], dtype: np.dtype[Any], facts: dict[str, Any], made: type[Any]
) -> Any:
    """A result of class `made` with the chains of an Outline of one region."""
    facts = {**facts, "segments": int(outline.effective[0]), "phases": phases}
    split, total = int(outline.lower_offsets[-1]), int(outline.lower_offsets[-1] + outline.upper_offsets[-1])

    def fetch() -> tuple[np.ndarray, np.ndarray]:
        rows = outline.vertices()
        return rows[:split], rows[split:]

    if not outline.on_host and made is Region:
        return Region.on_device(fetch, (split, total - split), dtype, **facts)
    return made(*fetch(), **facts)


def _region_of_chunks(
    chunks: Chunks[Any],
    segments: int,
    cuts: str,
    axes: str,
    bounds: tuple[float, ...] | None,
    nonfinite: Nonfinite,
    options: dict[str, Any],
    session: Session,
    made: type[Any],
    profile: bool,
) -> Any:
    """The region of points in chunks."""
    passes = Passes(chunks, nonfinite, CALLER)
    session.pool.free_held()
    call = Call(CALLER, profile=profile)
    with call:
        outlines = outlines_of_chunks(passes, segments, cuts, axes, bounds, options, session)
    passes.meter.see(session)
    found = []
    for number, axis in enumerate(axes):
        facts = {"n": passes.n, "axis": axis, "session": session}
        if outlines is None:
            empty = np.empty((0, 2), passes.dtype or np.float64)
            found.append(made(empty, empty, segments=0, **facts))
        else:
            found.append(_as_result(outlines[number], tuple(call.phases), np.dtype(passes.dtype), facts, made))
    for region in found:
        region.crs, region.peak = passes.crs, passes.meter.peak()
    return CrossRegion(*found) if len(found) > 1 else found[0]


# Points beyond one allocation -----------------------------------------------------------------------------------


def _outline_of_chunks(
    points: DeviceArray, segments: int, axis: str, assume_sorted: bool, options: dict[str, Any]
) -> Outline:
    """The Outline of points in several chunks: of the corners of the segments' hulls in each chunk."""
    session, dtype = points.session, points.dtype
    rows = points.to_host()
    if dtype.kind == "f" and not np.isfinite(rows).all():
        refuse_nonfinite(points, caller=CALLER)
    if assume_sorted:
        require_order(points, caller=CALLER, drop=True)
    if axis == "y":
        rows = rows[:, ::-1]
    if not assume_sorted:
        rows = np.ascontiguousarray(rows[np.lexsort((rows[:, 1], rows[:, 0]))])
        points = to_device(session, rows, caller=CALLER)
    cut = _first_points(rows[:, 0], segments, options["cuts"])
    sides = ("points[0]", "points[0]")
    corners, owners = [], []
    for chunk, part in zip(points.chunks, points.split()):
        begins = np.clip(cut - chunk.start, 0, chunk.count).astype(np.uint32)
        some = np.flatnonzero(begins[1:] > begins[:-1])
        begins = to_device(session, np.append(begins[some], begins[some[-1] + 1]), caller=CALLER)
        described = OutlineOptions(
            dtype, part.n, *sides, segments=1, starts="begins[0]", regions=len(some), kernel=options["kernel"]
        )
        bound: dict[str, Any] = {**part.bindings("points"), **begins.bindings("begins")}
        hulls = chains_of(session, described, **bound)
        corners += [hulls.lower, hulls.upper]
        owners += [
            np.repeat(some, np.diff(hulls.lower_offsets)),
            np.repeat(some, np.diff(hulls.upper_offsets)),
        ]
    return outline_of_hulls(session, np.concatenate(corners), np.concatenate(owners), segments, options, CALLER)


def _first_points(x: np.ndarray, segments: int, cuts: str) -> np.ndarray:
    """Return the index of the first point of each segment, as arc_cuts computes it, then the number of points.

    `x` ascends.
    """
    n = len(x)
    if cuts == "count":
        firsts = x[[k * n // segments for k in range(segments)]]
    else:
        firsts = np.append(x[:1], widths(x[0], x[-1], segments, x.dtype))
    return np.append(np.searchsorted(x, firsts, side="left"), n)


# Order ----------------------------------------------------------------------------------------------------------


def _in_order(points: DeviceArray) -> bool:
    """Whether points are in lexicographic order; `InvalidInput` for a NaN or infinity."""
    first, nonfinite_seen = first_out_of_order(points)
    if nonfinite_seen:
        refuse_nonfinite(points, caller=CALLER)
    return first >= points.n


def _swapped(points: DeviceArray) -> DeviceArray:
    """Points with their coordinates exchanged."""
    out = Scratch("swapped", points.dtype, 2 * points.n)
    step = Step.over(
        points.session.profile,
        "region/arc/arc_swap",
        ("points[0]", np.uint32(points.n), out),
        points.n,
        dtype=points.dtype,
        params={"real": c_name(points.dtype)},
        bytes_moved=2 * points.nbytes,
    )
    result = run(points.session, Plan(step), points=points)
    return replace(points, chunks=(Chunk(result[out], 0, points.n),), host=None)
