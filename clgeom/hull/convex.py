"""Convex hulls: the heaphull filter, a lexicographic sort of what it leaves, and Wagener's merge of hoods."""

from __future__ import annotations

import numpy as np

from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.hull.heaphull import filter_points
from clgeom.hull.lexsort import lexsort
from clgeom.hull.result import Hull
from clgeom.hull.wagener import emit_plan, hoods_plan
from clgeom.primitives.extremes import require_finite
from clgeom.primitives.gather import gather_plan
from clgeom.runtime.arrays import as_device_points, leave_out, session_of, to_device
from clgeom.runtime.launch import Scratch, run
from clgeom.sort.radix import segment_capacity


def convex_hull(
    points, *, collinear="drop", nonfinite="raise", filter="auto", device=None, profile=False
) -> Hull:
    """Convex hull of points in the plane, exactly.

    Parameters
    ----------
    points : array_like or pyopencl.array.Array, shape (n, 2)
        float32, float64, int32, or what fits one of them (float16, integers within 2**53). Points of a masked array
        with a masked coordinate are left out.
    collinear : {"drop", "keep"}
        "keep" makes every distinct point on the boundary a vertex, not only the corners.
    nonfinite : {"raise", "drop"}
        What to do with points that have a NaN or infinite coordinate.
    filter : {"auto", "octagon", "none"}
        Whether to throw away first what is strictly inside the octagon of the extreme points. Never changes the result.
    device : str, pyopencl.Device or Session, optional
        Part of a device's name or kind ("gpu", "pocl", "nvidia"); ``CLGEOM_DEVICE``, else the fastest kind, by default.
    profile : bool
        Measure each phase with the device's clock.

    Returns
    -------
    Hull
        With `vertices` counter-clockwise from the lexicographically smallest point; of equal points the lowest index.
        Points all equal, or all on a line, give a Hull of dimension 0 or 1 (both ends; with collinear="keep" all
        distinct points along the line).

    Raises
    ------
    InvalidInput
        For another shape, an unsupported type, or (nonfinite="raise") a NaN or infinity.
    DeviceLimit
        For float64 points on a device without float64.

    Notes
    -----
    The filter is that of Ferrada, Navarro, Hitschfeld (J. Comput. Appl. Math. 364, 2020); the merge that of Wagener
    ("Optimally parallel algorithms for convex hull determination", 1985), in the work-optimal form. Every orientation
    is decided exactly.

    Examples
    --------
    >>> import clgeom
    >>> hull = clgeom.convex_hull([(0, 0), (2, 0), (1, 1), (2, 2), (0, 2)])
    >>> hull.vertices.tolist(), hull.area
    ([0, 1, 3, 4], 4.0)
    """
    of = "convex_hull"
    _check_choice("collinear", collinear, ("drop", "keep"))
    _check_choice("filter", filter, ("auto", "octagon", "none"))
    session = session_of(points, device)
    left, kept = leave_out(points, nonfinite=nonfinite, of=of)
    array = as_device_points(session, left, of=of)
    vertices, corners, dimension, phases = hull_of(
        array, keep=collinear == "keep", filter=filter, profile=profile
    )
    return Hull(
        vertices=vertices if kept is None else kept[vertices],
        points=corners,
        dimension=dimension,
        n=len(points),
        phases=phases,
        session=session,
    )


def _check_choice(name, value, choices):
    if value not in choices:
        raise InvalidInput(
            f"The '{name}' parameter of convex_hull must be one of {', '.join(map(repr, choices))}. "
            f"Got {value!r} instead."
        )


def hull_of(points, *, keep, filter, profile):
    """Vertices, their coordinates, dimension and phases of the hull of a DeviceArray.

    Points in several chunks: the hull of all is the hull of the chunks' hulls.
    """
    if points.n == 0:
        return np.empty(0, np.int64), np.empty((0, 2), points.dtype), -1, ()
    if len(points.chunks) > 1:
        return _hull_of_chunks(points, keep=keep, filter=filter, profile=profile)
    session = points.session
    # What one launch sorts is not worth the filter's launches.
    if filter == "octagon" or (filter == "auto" and points.n > segment_capacity(session.profile, np.uint64)):
        survivors = filter_points(points, of="convex_hull", profile=profile)
        ids, n, phases = survivors.indices, survivors.n, survivors.phases
        bound = {ids.name: survivors.scattered[ids]}
    else:
        require_finite(points, of="convex_hull")
        ids, n, phases, bound = None, points.n, (), {}
    ordered, order, rows, sorting = lexsort(points, ids, n, profile=profile, **bound)
    plan, hoods = hoods_plan(session, rows, n, points.dtype, keep=keep)
    merged = run(session, plan, profile=profile, **{s.name: ordered[s] for s in (order, rows)})
    emission, vertices, dimension, buffers = emit_plan(session, merged, hoods, n, order)
    corners = Scratch("corners", points.dtype, 2 * vertices.count)
    emission += gather_plan(session.profile, points, "points", vertices, vertices.count, corners)
    buffers |= {order.name: ordered[order], hoods.corners.name: merged[hoods.corners]}
    emitted = run(session, emission, points=points, profile=profile, **buffers)
    phases += sorting + merged.phases + emitted.phases
    return emitted.read(vertices).astype(np.int64), emitted.read(corners).reshape(-1, 2), dimension, phases


def _hull_of_chunks(points, **options):
    parts = [hull_of(part, **options) for part in points.split()]
    ids = np.concatenate([chunk.start + part[0] for chunk, part in zip(points.chunks, parts)])
    corners = np.concatenate([part[1] for part in parts])
    if len(ids) == points.n:
        raise DeviceLimit(
            f"convex_hull found {len(ids):,} vertices so far, {points.nbytes:,} bytes, and one allocation of "
            f"{points.session.profile.name} holds {points.session.profile.max_alloc_bytes:,}."
        )
    union = to_device(points.session, corners, of="convex_hull")
    vertices, corners, dimension, phases = hull_of(union, **options)
    return ids[vertices], corners, dimension, sum((part[3] for part in parts), ()) + phases
