"""Convex hulls of many groups of points in one call.

One work-item solves a small group (``batch_hulls``). A larger group is cut into pieces. One work-item solves a piece
on a CPU, one work-group on a GPU (``batch_tiles``). The vertices of all pieces are gathered: they are the points of the
next round. Rounds end when the group is in one piece. ``batch_crowded`` or `convex_hull` solves a group whose pieces
keep most of their points, as on a circle.

    offsets ─> jobs ─────hulls─────> vertices at the beginning of each group's slots, counts, areas, perimeters
                 ^─── pieces <─── groups that were cut    │
                                                scan, batch_emit ──> vertices one after another, offsets
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from clgeom.arguments import boolean, one_of
from clgeom.core.call import Call
from clgeom.core.device import as_session
from clgeom.core.failures import failures
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import DeviceLimit, InvalidInput, short
from clgeom.hull.antimeridian import batch_over_antimeridian, checked_turn
from clgeom.hull.batch.group_hulls import MOST_POINTS, GroupHulls
from clgeom.hull.batch.groups import as_offsets, checked_offsets, grouped
from clgeom.hull.batch.result import HullBatch, picked_on_device
from clgeom.hull.batch.stream import hulls_of_chunks
from clgeom.hull.convex import convex_hull
from clgeom.intake.arrays import as_device_points, chunk_bounds, refuse_nonfinite
from clgeom.intake.chunks import as_chunks
from clgeom.intake.device_arrays import is_device_array, on_host, to_array
from clgeom.intake.dispatch import Work, dispatch
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.labels import as_array, as_labels
from clgeom.intake.points import take_points
from clgeom.intake.typing import (
    AnyArray,
    ArrayLike,
    ChunksLike,
    CLArray,
    Collinear,
    DevicesLike,
    LabelsLike,
    NDArray,
    Nonfinite,
)
from clgeom.primitives.extremes import is_finite

if TYPE_CHECKING:
    from typing_extensions import TypedDict, Unpack

    class Options(TypedDict, total=False):
        """Options that the public functions have in common."""

        collinear: Collinear
        nonfinite: Nonfinite
        device: DevicesLike
        profile: bool
        antimeridian: bool

    from clgeom.core.device import Session
    from clgeom.core.profile import DeviceProfile
    from clgeom.hull.batch.group_hulls import GroupArrays
    from clgeom.intake.arrays import DeviceArray
    from clgeom.intake.points import PointCloud
    from clgeom.intake.typing import HostOrDevice


#: Cost of a group besides its points, in points.
GROUP_COST = 8
#: Bytes of points from which on GPUs share them, as long as nothing was measured (H200: 160 MB in tens take 27 ms).
LEAST_SHARED = 1 << 29

# Public ---------------------------------------------------------------------------------------------------------


@overload
def convex_hulls(points: ArrayLike, offsets: AnyArray, **options: Unpack[Options]) -> HullBatch[NDArray[Any]]: ...
@overload
def convex_hulls(points: CLArray, offsets: AnyArray, **options: Unpack[Options]) -> HullBatch[CLArray]: ...
@keeps_subnormals
@takes_cuda
def convex_hulls(
    points: AnyArray,
    offsets: AnyArray,
    *,
    collinear: Collinear = "drop",
    nonfinite: Nonfinite = "raise",
    device: DevicesLike = None,
    profile: bool = False,
    antimeridian: bool = False,
) -> HullBatch[Any]:
    """Convex hulls of many groups of points, exactly, in one call.

    Parameters
    ----------
    points : array_like or pyopencl.array.Array, shape (n, 2)
        As for `convex_hull`: float32, float64, int32, or what fits one of them.
    offsets : array_like or pyopencl.array.Array of int, shape (m + 1,)
        Group i is ``points[offsets[i]:offsets[i + 1]]``. From 0 to n, never descending; groups may be empty. Of
        geometries with several vertices each, group i is ``geometries[offsets[i]:offsets[i + 1]]``.
    collinear : {"drop", "keep"}
        "keep" makes every distinct point on the boundary a vertex, not only the corners.
    nonfinite : {"raise", "drop"}
        What to do with points that have a NaN or infinite coordinate. Masked points are left out.
    device : str, pyopencl.Device or Session, or several, optional
        As in `convex_hull`. "all", or a list, shares the groups of points of the host out among devices.
    profile : bool
        Measure each phase with the device's clock.
    antimeridian : bool
        As in `convex_hull`, for each group for itself.

    Returns
    -------
    HullBatch
        `vertices` of all hulls, one after another, as int64 indices into `points`; hull i has those from
        ``offsets[i]`` to ``offsets[i + 1]``, in the order of `convex_hull`. `areas` and `perimeters` in float64. For
        points on the device these four are, too.

    Raises
    ------
    InvalidInput
        For points as in `convex_hull`; for offsets that are no integers, descend, or miss an end.
    DeviceLimit
        For float64 points on a device without float64, or points on a device that has no room for the result.

    See Also
    --------
    convex_hulls_by_label : Groups by label instead of offsets.
    convex_hull : One hull.

    Notes
    -----
    Each hull is what `convex_hull` finds for its group. Areas and perimeters are summed in one fixed order, so that
    they too are the same bit for bit on every device; see `HullBatch` for their errors.

    Examples
    --------
    >>> import clgeom
    >>> points = [(0, 0), (2, 0), (1, 1), (2, 2), (0, 2), (5, 5), (9, 9), (7, 7)]
    >>> batch = clgeom.convex_hulls(points, [0, 5, 5, 8])
    >>> batch.vertices.tolist(), batch.offsets.tolist(), batch.areas.tolist()
    ([0, 1, 3, 4, 5, 6], [0, 4, 4, 6], [4.0, 0.0, 0.0])
    """
    call = _call("convex_hulls", collinear, profile, antimeridian)
    cloud = take_points(call, points, device=device, nonfinite=nonfinite, is_finite=is_finite)
    sizes = cloud.sizes
    rows, on_device = len(cloud) if sizes is None else len(sizes), cloud.on_device and cloud.kept is None
    begins: Any = as_offsets(offsets, rows, caller=call.caller, on_device=on_device)
    if sizes is not None:
        begins = np.append(0, np.cumsum(sizes))[begins]
    batch = _hulls_of_groups(call, cloud, begins)
    return _over_antimeridian(batch, call, cloud, begins, None, antimeridian)


@overload
def convex_hulls_by_label(
    points: ArrayLike, labels: LabelsLike, *, noise: object = None, **options: Unpack[Options]
) -> HullBatch[NDArray[Any]]: ...
@overload
def convex_hulls_by_label(
    points: CLArray, labels: LabelsLike, *, noise: object = None, **options: Unpack[Options]
) -> HullBatch[CLArray]: ...
@overload
def convex_hulls_by_label(
    points: ChunksLike, labels: None = None, *, noise: object = None, **options: Unpack[Options]
) -> HullBatch[NDArray[Any]]: ...
@keeps_subnormals
@takes_cuda
def convex_hulls_by_label(
    points: AnyArray | ChunksLike,
    labels: LabelsLike | None = None,
    *,
    noise: object = None,
    collinear: Collinear = "drop",
    nonfinite: Nonfinite = "raise",
    device: DevicesLike = None,
    profile: bool = False,
    antimeridian: bool = False,
) -> HullBatch[Any]:
    """Convex hull of the points of each label, such as the number of a cluster, exactly.

    Parameters
    ----------
    points : array_like or pyopencl.array.Array, shape (n, 2)
        An iterator or `clgeom.scale.Chunks` gives pairs of points and labels, which need not fit in memory together:
        labels may be spread over all of them, and vertices are indices into all points, one chunk after another.
    labels : array_like, pandas Series or Index, pyarrow Array, Polars Series or pyopencl.array.Array, shape (n,)
        Integers of any sign, floats, bools, text, dates, categories, or other values of one kind that sort; in any
        order. A point whose label is null (None, NaN, NaT, pandas.NA, masked) is in no group.
        Left out for chunks.
    noise : optional
        A label whose points are in no group either, such as the -1 of scikit-learn's DBSCAN.
    collinear, nonfinite, device, profile, antimeridian
        As in `convex_hulls`. Chunks have their hulls as given, and are warned of.

    Returns
    -------
    HullBatch
        Its groups are the distinct labels in ascending order, `labels`; categories are in the order of their type.
        Vertices are indices into `points` as given. `left_out` is the number of points that are in no group. Labels of
        chunks are NumPy's, and categories are in the order of their values; `peak` is the memory that chunks took.

    Raises
    ------
    InvalidInput
        As in `convex_hulls`; for labels that do not sort, or are not as many as the points; for `noise` that is of
        another kind than the labels.

    See Also
    --------
    convex_hulls : Groups by offsets.
    convex_hull : One hull.

    Notes
    -----
    As in NumPy, -0.0 and 0.0 are one label, and the text "1" is not the number 1. Points in no group may have
    coordinates that are not finite.

    Examples
    --------
    >>> import clgeom
    >>> points = [(0, 0), (5, 5), (1, 0), (0, 1), (6, 6)]
    >>> batch = clgeom.convex_hulls_by_label(points, ["south", "north", "south", "south", "north"])
    >>> batch.labels.tolist(), batch[0].vertices.tolist(), batch[1].vertices.tolist()
    (['north', 'south'], [1, 4], [0, 2, 3])
    >>> clgeom.convex_hulls_by_label(points, [0, 1, 0, 0, -1], noise=-1)
    HullBatch(2 hulls, 4 vertices, labelled, 1 point left out)
    """
    call = _call("convex_hulls_by_label", collinear, profile, antimeridian)
    chunks = as_chunks(points)
    if chunks is not None:
        if labels is not None:
            raise call.wrong("labels", "left out for chunks, which have labels", short(labels))
        session = as_session(device)
        options = {"collinear": collinear, "nonfinite": nonfinite, "profile": profile, "device": session}
        if antimeridian:
            raise call.wrong("antimeridian", "False for chunks", short(antimeridian))
        return hulls_of_chunks(chunks, noise, session, options, convex_hulls_by_label, convex_hulls)
    cloud = take_points(call, points, device=device, nonfinite=nonfinite, is_finite=is_finite)
    keys = as_labels(labels, noise, caller=call.caller)
    order, offsets, column = grouped(keys, cloud, call)
    batch = replace(
        _hulls_of_groups(call, cloud, offsets, order),
        labels=as_array(column),
        label_column=column,
        label_name=keys.name,
        left_out=len(cloud) - int(offsets[-1]),
    )
    return _over_antimeridian(batch, call, cloud, offsets, order, antimeridian)


def _call(caller: str, collinear: object, profile: bool, antimeridian: bool) -> Call:
    """Return a call, whose options are whether points on an edge are vertices."""
    one_of(collinear, ("drop", "keep"), "collinear", caller=caller)
    boolean(antimeridian, "antimeridian", caller=caller)
    return Call(caller, profile=profile, options=collinear == "keep")


def _over_antimeridian(
    batch: HullBatch[Any],
    call: Call,
    cloud: PointCloud,
    offsets: HostOrDevice,
    order: HostOrDevice | None,
    antimeridian: bool,
) -> HullBatch[Any]:
    """`batch_over_antimeridian` for the points of a call."""
    if cloud.crs is None and not antimeridian:
        return batch
    turn = checked_turn(cloud.crs, antimeridian, caller=call.caller)
    if is_device_array(cloud.source):
        raise call.wrong("antimeridian", "False for points on a device", short(antimeridian))

    def members(number: int) -> np.ndarray:
        begin, end = offsets[number : number + 2]
        return np.arange(begin, end) if order is None else order[begin:end]

    offsets, order = on_host(offsets), None if order is None else on_host(order)
    solve = functools.partial(convex_hull, collinear="keep" if call.options else "drop", device=call.session)
    return batch_over_antimeridian(batch, cloud.source, members, turn, solve, wanted=antimeridian, caller=call.caller)


def _hulls_of_groups(
    call: Call, cloud: PointCloud, offsets: HostOrDevice, order: HostOrDevice | None = None
) -> HullBatch[Any]:
    """Return the hulls of groups of points; of groups of ``points[order]`` if `order` is given."""
    on_device, group_offsets, kept = is_device_array(cloud.source), offsets, cloud.kept
    numbers = order  # indices of the points that are left, in the order of groups; None for 0, 1, 2 ..
    if kept is not None and len(kept) < len(cloud):
        offsets = on_host(offsets)
        if order is None:
            offsets, numbers = np.searchsorted(kept, offsets), kept
        else:
            order = on_host(order)
            rank = np.full(len(cloud), -1)
            rank[kept] = np.arange(len(kept))
            among = rank[order]
            offsets = np.append(0, np.cumsum(among >= 0))[offsets]
            numbers, order = order[among >= 0], among[among >= 0]
    work = HullsWork(call, cloud, offsets, order)
    with call:
        indices, corners, offsets, areas, perimeters = dispatch(call, work)
    vertices = indices if numbers is None else _take_numbers(call, numbers, indices)
    if on_device and not is_device_array(vertices):
        vertices, corners, offsets, areas, perimeters = work.upload(vertices, corners, offsets, areas, perimeters)
    return HullBatch(
        vertices,
        offsets,
        areas,
        perimeters,
        corners,
        phases=tuple(call.phases),
        session=call.session,
        keep_collinear=call.options,
        group_offsets=group_offsets if is_device_array(group_offsets) else np.array(group_offsets),
        crs=cloud.crs,
    )


def _take_numbers(call: Call, numbers: Any, indices: HostOrDevice) -> HostOrDevice:
    """Select ``numbers[indices]``, on the host or on the device as `indices` are. `numbers` may be on the host."""
    if not is_device_array(indices):
        return np.take(numbers, indices)
    if is_device_array(numbers):
        with failures(call.session.device, "convert indices"):
            table = numbers.astype(np.int64)
    else:
        table = to_array(call.session, np.asarray(numbers, np.int64))
    return picked_on_device(call.session, table, indices.view(np.uint64), caller=call.caller)


class HullsWork(Work):
    """The hulls of groups of points. An item is a group, and a result a tuple of arrays as `join` returns it.

    `rows` are the points in the order of the groups, `offsets` where the groups begin; `order` are the numbers of the
    rows among all `points`, None for 0, 1, 2 ...
    """

    kind, least_cost = "convex_hulls", LEAST_SHARED
    n: int
    cost: float

    def __init__(self, call: Call, cloud: PointCloud, offsets: HostOrDevice, order: HostOrDevice | None) -> None:
        self.call, self.caller, self.keep_collinear = call, call.caller, call.options
        self.points, self.order, self.offsets = cloud.rows, order, offsets
        self.queue = (cloud.source.queue if is_device_array(cloud.source) else None) or call.session.queue
        self.rows = cloud.rows if order is None else _ordered(call, cloud.rows, order)
        self.on_device = is_device_array(self.rows)
        self.n, self.cost = len(offsets) - 1, cloud.rows.nbytes

    @property
    def costs(self) -> np.ndarray:
        return on_host(self.offsets) + GROUP_COST * np.arange(self.n + 1)

    def fits(self, session: Session) -> bool:
        most_points, most_groups = _limits(session.profile, self.rows.dtype)
        return self.on_device or (len(self.rows) <= most_points and self.n < most_groups)

    def at_once(self, session: Session) -> GroupArrays:
        return self._solve(as_device_points(session, self.rows, caller=self.caller, checked=True), self.offsets)

    def in_pieces(self, session: Session) -> GroupArrays:
        return self.piece(session, 0, self.n)

    def piece(self, session: Session, start: int, stop: int) -> GroupArrays:
        """Return the hulls of some groups, in ranges that fit in one run; a group that is too large is a range."""
        most_points, most_groups = _limits(session.profile, self.rows.dtype)
        results, offsets = [], on_host(self.offsets)
        while start < stop:
            last = int(np.searchsorted(offsets, offsets[start] + most_points, side="right")) - 1
            last = min(max(last, start + 1), start + most_groups, stop)
            results.append(self._solve_range(session, start, last, most_points))
            start = last
        return self.join(session, results)

    def join(self, session: Session, results: list[GroupArrays]) -> GroupArrays:
        """(indices of vertices, their coordinates, offsets, areas, perimeters) of all groups."""
        if len(results) == 1:
            return results[0]
        indices, corners, offsets, *measures = zip(*results)
        counts = np.cumsum(np.concatenate([np.diff(part) for part in offsets]))
        whole = np.concatenate(indices), np.concatenate(corners), np.append(0, counts)
        return *whole, *map(np.concatenate, measures)

    def upload(self, *results: Any) -> tuple[CLArray, ...]:
        """Return the results as arrays on the device of the points."""
        return tuple(to_array(self.call.session, result, queue=self.queue) for result in results)

    def refuse(self) -> None:
        """Raise the error that names the first point of a group that is not finite."""
        points, session = self.points, self.call.session
        if self.order is not None and len(self.order) < len(points):
            host, order = on_host(points), on_host(self.order)
            points = np.zeros_like(host)
            points[order] = host[order]
        refuse_nonfinite(as_device_points(session, points, caller=self.caller), caller=self.caller)

    def _solve(self, array: DeviceArray, offsets: HostOrDevice) -> GroupArrays:
        """Return the result of `join` for groups in one chunk of points."""
        groups = len(offsets) - 1
        if array.n > MOST_POINTS:
            raise DeviceLimit(f"{self.caller} takes at most {MOST_POINTS:,} points on the device. Got {array.n:,}.")
        if array.n and groups:
            return GroupHulls(self, array, offsets).run()
        checked_offsets(on_host(offsets), array.n, caller=self.caller)
        none, zeros = np.empty(0, np.int64), np.zeros(groups)
        results = none, np.empty((0, 2), array.dtype), np.zeros(groups + 1, np.int64), zeros, zeros.copy()
        return self.upload(*results) if self.on_device else results

    def _solve_range(self, session: Session, first: int, last: int, most_points: int) -> GroupArrays:
        """`_solve` for the groups first <= i < last; `convex_hull` for one group that is too large."""
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        if end - begin <= most_points:
            array = as_device_points(session, self.rows[begin:end], caller=self.caller)
            indices, *rest = self._solve(array, self.offsets[first : last + 1] - begin)
            return indices + begin, *rest
        collinear: Collinear = "keep" if self.keep_collinear else "drop"
        try:
            hull = convex_hull(self.rows[begin:end], collinear=collinear, device=session)
        except InvalidInput:
            self.refuse()
            raise
        measures = np.array([hull.area]), np.array([hull.perimeter])
        return hull.vertices + begin, hull.points, np.array([0, len(hull)]), *measures


def _ordered(call: Call, points: HostOrDevice, order: Any) -> HostOrDevice:
    """points[order], on the host or on the device as `points` are."""
    if not is_device_array(points):  # rows as single values: NumPy moves those five times as fast
        rows = points.view(np.complex128 if points.dtype.itemsize == 8 else np.complex64)
        ordered: np.ndarray = np.take(rows, order).view(points.dtype).reshape(-1, 2)
        return ordered
    order = order if is_device_array(order) else np.asarray(order, np.uint32)
    return picked_on_device(call.session, points, order, caller=call.caller)


def _limits(profile: DeviceProfile, dtype: np.dtype) -> tuple[int, int]:
    """Return the most points of one run, and the most groups (two numbers of 8 bytes each)."""
    (_, most_points), *_ = chunk_bounds(profile, MOST_POINTS, 2 * dtype.itemsize)
    return most_points, min(max(profile.max_alloc_bytes // 16, 1), MOST_POINTS)
