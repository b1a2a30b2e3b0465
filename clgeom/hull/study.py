"""Heaphull as published, for study: the hull of each queue of the filter, and their union.

    points -> labels, four queues (`clgeom.hull.heaphull`) -> a hull for each queue -> its chain -> chains end to end

Use `clgeom.convex_hull` for hulls: its sieve keeps fewer points than the octagon.

Why the chains make the hull: each of its vertices that is not on a side of the bounding box is in the queue of its own
quarter. A point of the north-east that is left of all edges of this quarter is not as far as some corner of the octagon
in any direction between north and east, so it is no vertex. Edges of other quarters have a vertex to their right only
beyond a corner that both quarters share, or beyond the whole octagon. The sides of the box have two vertices each, at
most; these may be in any queue.

Source: "GPU heaphull" (arXiv 2209.12310), algorithm 1, lines 11 to 15.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.call import Call
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import allocate, copy, run
from clgeom.core.plan import Phase, Scratch
from clgeom.errors import DeviceLimit
from clgeom.geo.exact import integers
from clgeom.hull.convex import HullOptions, start_hull
from clgeom.hull.heaphull import QUEUES, HeaphullFilter, filter_cloud
from clgeom.intake.arrays import Chunk, DeviceArray
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.points import take_points
from clgeom.intake.typing import AnyArray, DeviceLike, NDArray, Nonfinite
from clgeom.primitives.extremes import is_finite
from clgeom.primitives.gather import gather_plan

if TYPE_CHECKING:
    from clgeom.hull.heaphull import Survivors


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class Heaphull:
    """The hull of points by the filter's queues.

    Parameters
    ----------
    filter : HeaphullFilter
        Labels, octagon and queues.
    hulls : tuple of 4 ndarrays of int64
        The vertices of the hull of each queue, as `convex_hull` has them for its points alone.
    chains : tuple of 4 ndarrays of int64
        The hull's vertices in each quarter, counter-clockwise: from the lowest of the easternmost points, the
        easternmost of the northernmost, the highest of the westernmost, the westernmost of the southernmost, to before
        the next of these.
    vertices : ndarray of int64, shape (h,)
        The chains end to end, from the lexicographically smallest point: the vertices of `convex_hull`.
    phases : tuple of Phase

    Examples
    --------
    >>> from clgeom.hull.study import heaphull
    >>> heaphull([(0, 0), (4, 0), (2, 1), (4, 4), (0, 4)])
    Heaphull(filter=HeaphullFilter(octagon=array([0, 1, 3, 4])), vertices=array([0, 1, 3, 4]))
    """

    filter: HeaphullFilter
    hulls: tuple[NDArray[np.int64], ...] = field(repr=False)
    chains: tuple[NDArray[np.int64], ...] = field(repr=False)
    vertices: NDArray[np.int64]
    phases: tuple[Phase, ...] = field(default=(), repr=False)


@keeps_subnormals
@takes_cuda
def heaphull(
    points: AnyArray, *, nonfinite: Nonfinite = "raise", device: DeviceLike = None, profile: bool = False
) -> Heaphull:
    """Return the hull of points as heaphull finds it: filter, four queues, their hulls, and the union, exactly.

    Parameters
    ----------
    points, nonfinite, device, profile
        As for `heaphull_filter`.

    Returns
    -------
    Heaphull
        Its `vertices` are those of `convex_hull`.

    Raises
    ------
    InvalidInput
        As for `heaphull_filter`.
    DeviceLimit
        For queues that do not fit one allocation.

    Notes
    -----
    A lexicographic sort and Wagener's merge find the hull of a queue, in place of a heap and a scan.

    Examples
    --------
    >>> from clgeom.hull.study import heaphull
    >>> found = heaphull([(0, 0), (4, 0), (2, 1), (4, 4), (0, 4)])
    >>> [chain.tolist() for chain in found.chains], found.vertices.tolist()
    ([[1], [3], [4], [0]], [0, 1, 3, 4])
    """
    call = Call("heaphull", profile=profile)
    cloud = take_points(call, points, device=device, nonfinite=nonfinite, is_finite=is_finite, shared=False)
    with call:
        filtered, survivors = filter_cloud(call, cloud)
        hulls = [] if survivors is None else _hulls_of_queues(survivors)
    if not hulls:
        none = filtered.octagon
        return Heaphull(filtered, (none,) * QUEUES, (none,) * QUEUES, none, tuple(call.phases))
    ids = tuple(queue[vertices] for queue, (vertices, _) in zip(filtered.queues, hulls))
    chains, vertices = _chains(ids, [places for _, places in hulls])
    return Heaphull(filtered, ids, chains, vertices, tuple(call.phases))


def _hulls_of_queues(survivors: Survivors) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the vertices of the hull of each queue, by their places in the queue, and their coordinates."""
    points, scattered, indices = survivors.points, survivors.scattered, survivors.indices
    session = points.session
    if scattered is None or indices is None:
        raise DeviceLimit(f"heaphull needs its queues in one allocation. They have {survivors.n:,} points.")
    rows = Scratch("queue_points", points.dtype, 2 * survivors.n)
    plan = gather_plan(session.profile, points, "points", indices, survivors.n, rows)
    bound: dict[str, Any] = {indices.name: scattered[indices]}
    gathered = run(session, plan, points=points, **bound)[rows]
    finishes, start = [], 0
    for n in survivors.queue_sizes().tolist():
        nbytes = n * points.item_bytes
        buffer = allocate(session, nbytes)
        if n:
            copy(session, gathered, buffer, nbytes, start=start)
        queue = DeviceArray(session, points.dtype, n, 2, (Chunk(buffer, 0, n),))
        finishes.append(start_hull(queue, HullOptions(False, "none")))
        start += nbytes
    return [finish().read() for finish in finishes]


# Chains ---------------------------------------------------------------------------------------------------------------


def _chains(ids: Sequence[np.ndarray], corners: Sequence[np.ndarray]) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Return the chain of each quarter, and all of them from the lexicographically smallest point.

    `ids` and `corners` are the vertices of the queues' hulls. A position is in one queue only, so ids tell them apart.
    """
    all_ids, places = np.concatenate(ids), np.concatenate(corners)
    keys = _keys(places)
    # of the points on a side of the box, counter-clockwise: the first and the last
    firsts = [_farthest(keys, side, side - 1) for side in range(QUEUES)]
    lasts = [_farthest(keys, side, (side + 1) % QUEUES) for side in range(QUEUES)]
    chains = []
    for q in range(QUEUES):
        after = firsts[(q + 1) % QUEUES]
        chain = [at for at, following in ((firsts[q], lasts[q]), (lasts[q], after)) if at != following]
        inner = ids[q][_inner(corners[q], places[lasts[q]], places[after], q)] if lasts[q] != after else all_ids[:0]
        chains.append(np.concatenate([all_ids[chain], inner]))
    whole = np.concatenate(chains) if any(map(len, chains)) else all_ids[:1]  # of equal points none follows another
    start = int(np.flatnonzero(whole == all_ids[lasts[2]])[0])
    return tuple(chains), np.roll(whole, -start)


def _keys(places: np.ndarray) -> list[np.ndarray]:
    """How far points are to the east, north, west and south."""
    x, y = places.T if places.dtype.kind == "f" else places.T.astype(np.int64)
    return [x, y, -x, -y]


def _farthest(keys: list[np.ndarray], side: int, then: int) -> int:
    """Return the point that is farthest in one direction, and of several the farthest in another one."""
    candidates = np.flatnonzero(keys[side] == keys[side].max())
    return int(candidates[np.argmax(keys[then][candidates])])


def _inner(corners: np.ndarray, before: np.ndarray, after: np.ndarray, quarter: int) -> np.ndarray:
    """Return which vertices of a queue's hull are on the whole hull, between the vertices `before` and `after` of it.

    These two are on sides of the box. The tangents from them pass over vertices at the ends of the queue's chain only.
    """
    keys, following = _keys(corners), (quarter + 1) % QUEUES
    if len(corners) == 0:
        return np.empty(0, np.int64)
    begin, end = _farthest(keys, quarter, following), _farthest(keys, following, quarter)
    chain: np.ndarray = (begin + np.arange((end - begin) % len(corners) + 1)) % len(corners)
    most = _keys(np.stack([before, after]))
    inside = (keys[quarter] < most[quarter][0]) & (keys[following] < most[following][1])
    chain = chain[inside[chain]]

    def passes_before(k: int) -> bool:
        return _side(before, corners[chain[k]], corners[chain[k + 1]]) <= 0

    def passes_after(k: int) -> bool:
        return _side(corners[chain[k - 1]] if k > first else before, corners[chain[k]], after) <= 0

    first = bisect_left(range(len(chain) - 1), True, key=lambda k: not passes_before(k))
    end = bisect_left(range(len(chain)), True, first, key=passes_after)
    return chain[first:end]


def _side(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> int:
    """Positive where c is left of the line from a to b, exactly."""
    ax, ay, bx, by, cx, cy = integers([*a.tolist(), *b.tolist(), *c.tolist()])[0]
    return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
