"""Adaptive regions of points: an outline tighter than the convex hull that loses no point.

Points in lexicographic order are cut into segments of whole columns; the region is the union of the convex hulls of
neighbouring segments. See :doc:`/explanation/region` for the definition and the proofs.

Source: the adaptive region construction (ARC) for radio propagation maps, with its join made exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np

from clgeom.arguments import boolean, integer, one_of, wrong
from clgeom.core.call import Call
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.errors import short
from clgeom.geo.longitudes import turn_of_crs
from clgeom.hull.antimeridian import warn_across
from clgeom.hull.lexsort import (
    BROKEN,
    lexsort,
    read_order_check,
    require_order,
    sort_by_x,
    sort_fully,
    start_order_check,
)
from clgeom.intake.arrays import Chunk, DeviceArray, c_name, refuse_nonfinite, session_of
from clgeom.intake.chunks import Chunks, as_chunks
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.points import take_points
from clgeom.intake.typing import AnyArray, ChunksLike, DeviceLike, FloatLike, IntLike, Nonfinite
from clgeom.primitives.extremes import is_finite
from clgeom.region.arc.chains import CUTS, KERNELS, Chains, chains_of, start_chains
from clgeom.region.arc.chunked import Construction, Passes, chains_of_chunks, checked_bounds
from clgeom.region.arc.outline_plans import OutlineOptions
from clgeom.region.arc.result import CrossRegion, Region

CALLER = "adaptive_region"
AXES = ("x", "y", "both")
#: Most points whose chains are computed before it is known whether they are in order.
MOST_AHEAD = 1 << 17
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
@takes_cuda
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
    how = Construction(segments, cuts, assume_sorted)
    region: Region | CrossRegion = compute_region(
        points, how, axis, nonfinite=nonfinite, device=device, profile=profile, bounds=bounds
    )
    return region


def compute_region(
    points: Any,
    how: Construction,
    axis: str,
    *,
    nonfinite: Nonfinite,
    device: DeviceLike,
    profile: bool,
    result: Callable[..., Any] = Region.of_chains,
    bounds: Any = None,
) -> Any:
    """Return the result of `adaptive_region`, with the options that clgeom.region.arc.study compares.

    ``result(chains, **facts)`` makes a region.
    """
    how = replace(how, segments=integer(how.segments, "segments", caller=CALLER))
    for name, value, choices in (("cuts", how.cuts, CUTS), ("axis", axis, AXES), ("kernel", how.kernel, KERNELS)):
        one_of(value, choices, name, caller=CALLER)
    if boolean(how.assume_sorted, "assume_sorted", caller=CALLER) and axis != "x":
        raise wrong("axis", CALLER, "'x' with assume_sorted", short(axis))
    if how.cuts == "width" and how.segments > MOST_WIDTHS:
        raise wrong("segments", CALLER, f"at most {MOST_WIDTHS:,} with cuts='width'", f"{how.segments:,}")
    chunks, bounds = as_chunks(points), checked_bounds(bounds, how.cuts, caller=CALLER)
    if chunks is None and bounds is not None:
        chunks = Chunks([points], copy=False)
    axes = "xy" if axis == "both" else axis
    if chunks is not None:
        if how.assume_sorted:
            raise wrong("assume_sorted", CALLER, "False for chunks or bounds", "True")
        call, session = Call(CALLER, profile=profile), session_of(points, device)
        passes = Passes(chunks, nonfinite, CALLER)
        session.pool.free_held()
        with call:
            found = chains_of_chunks(passes, axes, bounds, how, session)
        passes.meter.see(session)
        facts = {"phases": call.phases, "n": passes.n, "session": session}
        regions = [result(chains, axis=along, **facts) for along, chains in zip(axes, found)]
        for region in regions:
            region.crs, region.peak = passes.crs, passes.meter.peak()
    else:
        call = Call(CALLER, profile=profile)
        cloud = take_points(call, points, device=device, nonfinite=nonfinite, is_finite=is_finite, shared=False)
        array, regions = cloud.on(call.session), []
        for along in axes:
            with Call(CALLER, profile=profile) as call:
                chains = _chains_along(array, along, how) if array.n else Chains.empty(array.dtype)
            regions.append(result(chains, axis=along, phases=call.phases, n=len(cloud), session=array.session))
        if cloud.crs is not None:
            for region in regions:
                region.crs = cloud.crs
            warn_across(regions[0], cloud.source, turn_of_crs(cloud.crs), caller=CALLER)
    return CrossRegion(*regions) if axis == "both" else regions[0]


def _chains_along(points: DeviceArray, axis: str, how: Construction) -> Chains:
    """Return the chains of points along one axis."""
    session, segments = points.session, how.segments
    if len(points.chunks) > 1:  # beyond one allocation
        if how.assume_sorted:
            require_order(points, caller=CALLER, drop=True)
        passes = Passes(Chunks([points.to_host()], copy=False), "raise", CALLER)
        return chains_of_chunks(passes, axis, None, how, session)[0]
    if axis == "y":
        points = _swapped(points)
    if how.cuts == "count":
        segments = min(segments, points.n)
    rows, bound = "points[0]", dict[str, Any](points.bindings("points"))
    how_made: dict[str, Any] = {"cuts": how.cuts, "join": how.join, "kernel": how.kernel, "check": how.assume_sorted}
    options = OutlineOptions(points.dtype, points.n, rows, rows, segments, **how_made)
    if how.assume_sorted:
        chains = chains_of(session, options, **bound)
        if chains.head.disordered:
            require_order(points, caller=CALLER, drop=True)
        return chains
    found, ahead = start_order_check(points), None
    # whether the last points were in order: then the chains of these need not wait for the check
    were_ordered = session.cached(("orders of points", points.dtype, points.n), lambda: [False])
    if points.n <= MOST_AHEAD and not session.profile.is_cpu:
        ahead = were_ordered[0], _start_chains(points, options, were_ordered[0])
    first_disordered, has_nonfinite = read_order_check(*found)
    if has_nonfinite:
        refuse_nonfinite(points, caller=CALLER)
    are_ordered = first_disordered == points.n
    were_ordered[0] = are_ordered
    chains = ahead[1] if ahead and ahead[0] == are_ordered else _start_chains(points, options, are_ordered)
    if chains.head.disordered:
        ordered, _, sorted_rows = sort_fully(points, None, points.n, {})
        bound = {sorted_rows.name: ordered[sorted_rows]}
        return chains_of(session, replace(options, lower=sorted_rows, upper=sorted_rows), **bound)
    return chains


def _start_chains(points: DeviceArray, options: OutlineOptions, are_ordered: bool) -> Chains:
    """Enqueue the chains of points. Few points out of order are sorted by x: then the head says whether that will do.

    The kernels end for all points, also for those in another order and those that are not finite.
    """
    session, n = points.session, points.n
    if are_ordered:
        bound = dict[str, Any](points.bindings("points"))
        return start_chains(session, options, **bound)
    if n <= MOST_AHEAD:
        ordered, _, rows = sort_by_x(points, None, n, False, {})
        bound = {one.name: ordered[one] for one in (rows, BROKEN)}
        return start_chains(session, replace(options, lower=rows, upper=rows, disorder=BROKEN.name), **bound)
    ordered, _, rows = lexsort(points, None, n)
    bound = {rows.name: ordered[rows]}
    return start_chains(session, replace(options, lower=rows, upper=rows), **bound)


def _swapped(points: DeviceArray) -> DeviceArray:
    """Return the points with their coordinates exchanged."""
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
