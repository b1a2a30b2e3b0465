"""Hulls of few points on the host, which takes less time for them than a launch on a CPU.

points -> those not certainly inside the polygon of the outermost ones -> in order -> a chain on each side
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from clgeom.core.call import current
from clgeom.core.tuning import is_overridden
from clgeom.hull.predicates import THETA, orientation

if TYPE_CHECKING:
    from clgeom.core.device import Session

#: Most points, and most of them for the chains, which take 1 us for a point. A launch and a wait take 100 on two cores.
MOST, MOST_IN_CHAIN = 1024, 128
#: From so many points on, those certainly inside are left out first, which takes 20 us.
LEAST_FILTERED = 40
#: Directions of the polygon, and their opposites.
DIRECTIONS = np.array([(1.0, 0.0), (1.0, 1.0), (0.0, 1.0), (-1.0, 1.0)])
#: A determinant below this may have underflowed.
UNDERFLOW = 1e-307
#: Coordinates of a point and its number.
Row: TypeAlias = tuple[Any, Any, int]


def hull_of_few(session: Session, points: np.ndarray, keep_collinear: bool) -> tuple[np.ndarray, int] | None:
    """(vertices, dimension) of the hull of points of the host; None where kernels are to compute it.

    These also refuse points that are not finite.
    """
    profile, call = session.profile, current()
    if not profile.is_cpu or not 0 < len(points) <= MOST or not profile.denormals:
        return None
    if is_overridden() or (call is not None and (call.kernels_only or call.timed)):
        return None
    if points.dtype == np.float64 and not profile.fp64:
        return None
    numbers = _outer(points) if len(points) >= LEAST_FILTERED else range(len(points))
    if numbers is None or len(numbers) > MOST_IN_CHAIN:
        return None
    rows = _distinct(points, numbers)
    return None if rows is None else _chains(rows, keep_collinear)


def _outer(points: np.ndarray) -> np.ndarray | None:
    """Return the numbers of points that are not certainly inside the hull; None where points are not finite.

    A point that lies left of all edges of a closed polygon of points is inside their hull, also if rounding took other
    points than the outermost ones.
    """
    points = points.astype(np.float64, copy=False)
    with np.errstate(all="ignore"):
        along = DIRECTIONS @ points.T
        ends = list(dict.fromkeys([*along.argmax(1).tolist(), *along.argmin(1).tolist()]))
        polygon = points[[*ends, ends[0]]]
        corners = polygon.tolist()
        if not all([math.isfinite(x) and math.isfinite(y) for x, y in corners]):
            return None
        xs, ys = zip(*corners)
        x, y = polygon[:, :1] - points[:, 0], polygon[:, 1:] - points[:, 1]
        turns = x[:-1] * y[1:] - y[:-1] * x[1:]
        most = THETA * 2.01 * (max(xs) - min(xs)) * (max(ys) - min(ys)) + UNDERFLOW  # of the rounding error
        return np.flatnonzero(~(turns.min(0) > most))  # NaN, where something overflowed, tells nothing


def _distinct(points: np.ndarray, numbers: Any) -> list[Row] | None:
    """Return the points of these numbers in lexicographic order, of equal ones the first; None if one is not finite."""
    if isinstance(numbers, range):
        rows = [(x, y, at) for at, (x, y) in enumerate(points.tolist())]
        if not math.isfinite(sum([x + y for x, y, _ in rows])):
            return None
    else:
        rows = [(x, y, at) for (x, y), at in zip(points[numbers].tolist(), numbers.tolist())]
    rows.sort()
    distinct = rows[:1]
    for row in rows:
        if row[0] != distinct[-1][0] or row[1] != distinct[-1][1]:
            distinct.append(row)
    return distinct


def _chains(rows: list[Row], keep_collinear: bool) -> tuple[np.ndarray, int]:
    """(vertices, dimension) of the hull of distinct points in lexicographic order."""
    first, last = rows[0], rows[-1]
    below, above = [first], [first]
    for row in rows[1:-1]:
        side = _turn(first, last, row)
        if side < 0 or (keep_collinear and side == 0):
            below.append(row)
        if side > 0 or (keep_collinear and side == 0):
            above.append(row)
    if len(rows) > 1:
        below.append(last)
        above.append(last)
    is_line = len(below) == len(above) and (len(below) == 2 or below == above)
    if is_line or len(rows) == 1:
        return np.array([at for _, _, at in below], np.int64), min(len(rows), 2) - 1
    lower, upper = _chain(below, keep_collinear), _chain(above[::-1], keep_collinear)
    return np.array([at for _, _, at in (*lower, *upper[1:-1])], np.int64), 2


def _turn(a: Row, b: Row, c: Row) -> Any:
    """Return a number with the exact sign of `orientation`."""
    cx, cy, _ = c
    left, right = (a[0] - cx) * (b[1] - cy), (a[1] - cy) * (b[0] - cx)
    turn = left - right
    if not abs(turn) > THETA * abs(left + right) + UNDERFLOW:  # also where something overflowed
        return orientation(a[:2], b[:2], c[:2])
    return turn


def _chain(rows: list[Row], keep_collinear: bool) -> list[Row]:
    """Return the points from the first to the last one, between which the chain turns left."""
    chain: list[Row] = []
    for row in rows:
        cx, cy, _ = row
        while len(chain) > 1:
            a, b = chain[-2], chain[-1]
            left, right = (a[0] - cx) * (b[1] - cy), (a[1] - cy) * (b[0] - cx)
            if left - right > THETA * abs(left + right) + UNDERFLOW:
                break
            turn = _turn(a, b, row)
            if turn > 0 or (keep_collinear and turn == 0):
                break
            chain.pop()
        chain.append(row)
    return chain
