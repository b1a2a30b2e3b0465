"""Which points are in convex polygons, or between two chains: by a kernel, or on the host where the device cannot.

Both find the edges below and above a point by bisections: see ``templates/hull/batch/batch_contains.cl.mako``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.device import as_session
from clgeom.core.launch import run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.hull.predicates import host_signs, predicate_parameters
from clgeom.intake.arrays import chunk_bounds, rows_at, to_device

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.intake.typing import NDArray

CONTAINS = "hull/batch/batch_contains"
CALLER = "contains"
#: So few points are compared on the host, which takes less time than a launch.
FEW = 16
#: Points for each corner of a polygon from which on corners are sorted into bins, and the most bins.
POINTS_OF_CORNER, MOST_BINS = 8, 1 << 18


def contains(
    session: Session | None, corners: np.ndarray, offsets: np.ndarray, points: np.ndarray, owners: np.ndarray | None
) -> NDArray[np.bool_]:
    """Return whether each point is in its owner, of the polygons ``corners[offsets[i] : offsets[i + 1]]``.

    Coordinates are of one type. Corners of a polygon ascend by x, then y, from the first to the last one, and descend
    from there; no two of them in a row are equal. Without `owners` there is one polygon.
    """
    if len(points) <= FEW or not len(corners):
        return _on_host(corners, offsets, points, owners)
    session, real = as_session(session), corners.dtype
    profile = session.profile
    is_exact = real == np.int32 or (profile.denormals and (profile.fp64 or real == np.float32))
    if not is_exact or len(chunk_bounds(profile, len(corners), 2 * real.itemsize)) > 1 or len(corners) >= 1 << 31:
        return _on_host(corners, offsets, points, owners)
    inside = np.empty(len(points), bool)
    given = {"corners": corners, "offsets": offsets.astype(np.uint32)}
    arrays: dict[str, Any] = {
        name: to_device(session, np.ascontiguousarray(array), caller=CALLER) for name, array in given.items()
    }
    params = predicate_parameters(session, real)
    table, scale = _bins_of(corners, len(points) if owners is None else 0)
    for first, count in chunk_bounds(profile, len(points), 2 * real.itemsize):
        some = slice(first, first + count)
        arrays["points"] = to_device(session, np.ascontiguousarray(points[some]), caller=CALLER)
        own = table if owners is None else owners[some].astype(np.uint32)
        arrays["owners"] = to_device(session, own, caller=CALLER)
        flags, moved = Scratch("inside", np.uint8, count), arrays["points"].nbytes + own.nbytes + count
        numbers = np.uint32(count), np.uint32(owners is not None), np.uint32(max(len(table) // 2 - 1, 0)), scale
        args = "corners[0]", "offsets[0]", "points[0]", "owners[0]", *numbers, flags
        step = Step.over(profile, CONTAINS, args, count, dtype=real, params=params, bytes_moved=moved)
        inside[some] = run(session, Plan(step), **arrays).read(flags).view(bool)
    return inside


def _bins_of(corners: np.ndarray, count: int) -> tuple[NDArray[np.uint32], np.generic]:
    """Return the kernel's table of bins of x, and bins a unit, for so many points in one polygon; 0 for no table."""
    x, none = corners[:, 0], (np.zeros(1, np.uint32), corners.dtype.type(0))
    if corners.dtype.kind != "f" or count < POINTS_OF_CORNER * len(x):
        return none
    sizes = np.array([len(x)])
    last = int(_last_of(np.zeros(1, np.int64), sizes, lambda k: _before(corners[k - 1], corners[k]))[0])
    bins = min(2 * len(x), MOST_BINS)
    with np.errstate(all="ignore"):
        width = x[last] - x[0]
        scale = corners.dtype.type(bins) / width
        if not (np.isfinite(width) and np.finfo(corners.dtype).tiny < scale < np.inf):
            return none
        of_corners = np.minimum(((x - x[0]) * scale).astype(np.int64), bins - 1)
    each = np.arange(bins + 1)
    below, above = np.searchsorted(of_corners[:last], each), np.searchsorted(of_corners[last:][::-1], each)
    table: NDArray[np.uint32] = np.stack([below, len(x) - last - above], axis=1).astype(np.uint32).ravel()
    return table, scale


def _on_host(
    corners: np.ndarray, offsets: np.ndarray, points: np.ndarray, owners: np.ndarray | None
) -> NDArray[np.bool_]:
    inside = np.zeros(len(points), bool)
    own = np.zeros(len(points), np.int64) if owners is None else owners
    places = np.flatnonzero(offsets[own] < offsets[own + 1])
    own, points, corners = own[places], points[places].astype(np.float64), corners.astype(np.float64)
    first, end = offsets[own], offsets[own + 1]
    x, at = corners[:, 0], points[:, 0]
    last = _last_of(first, end - first, lambda k: _before(rows_at(corners, k - 1), rows_at(corners, k)))
    below = _last_of(first, last - first, lambda k: x[k] < at)
    above = _last_of(last, end - last, lambda k: x[k] > at)
    found = ~_before(points, corners[first]) & ~_before(corners[last], points)
    edges = np.flatnonzero(found & (end - first > 1))
    points, below, above = points[edges], below[edges], above[edges]
    after = np.where(above + 1 < end[edges], above + 1, first[edges])
    found[edges] = host_signs(corners[below], corners[below + 1], points) >= 0
    found[edges] &= host_signs(corners[above], corners[after], points) >= 0
    inside[places] = found
    return inside


def _last_of(first: np.ndarray, count: np.ndarray, condition: Callable[[np.ndarray], np.ndarray]) -> NDArray[np.int64]:
    """Return the last of `count` numbers from `first` on for which a condition holds; or the first."""
    found = first.copy()
    for _ in range(int(count.max(initial=0)).bit_length()):
        half = count // 2
        found += np.where(condition(found + half), half, 0)
        count = count - half
    return found


def _before(a: np.ndarray, b: np.ndarray) -> NDArray[np.bool_]:
    """Return whether points a are before points b, by x, then y."""
    before: NDArray[np.bool_] = (a[:, 0] < b[:, 0]) | ((a[:, 0] == b[:, 0]) & (a[:, 1] < b[:, 1]))
    return before
