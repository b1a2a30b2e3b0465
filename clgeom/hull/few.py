"""Hulls of few points on the host, which takes less time for them than a launch on a CPU.

points -> those not certainly inside the polygon of the outermost ones -> in order -> a chain on each side
       -> of many: left to a kernel
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

#: Most points, and most of them for the chains, which take 0.5 us for a point. A launch for more takes 70 us and 0.04
#: us a point. For 400 points of a ring with 2 % noise it took 95 us on two cores of EPYC, and NumPy 180.
MOST, MOST_IN_CHAIN = 8192, 128
#: From so many points on, those certainly inside are left out first, which takes 12 us.
LEAST_FILTERED = 48
#: Directions of the polygon, counter-clockwise.
DIRECTIONS = np.array([(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)], np.float64)
#: A determinant below this may have underflowed.
UNDERFLOW = 1e-307
#: Coordinates of a point and its number.
Row: TypeAlias = tuple[Any, Any, int]


def hull_of_few(session: Session, points: np.ndarray, keep_collinear: bool) -> tuple[np.ndarray, int | None] | None:
    """(vertices, dimension) of the hull of points of the host; None where kernels are to compute it.

    Kernels also refuse points that are not finite. The dimension is None where the vertices are among others, which are
    not certainly inside and so many that kernels are faster.
    """
    profile, call = session.profile, current()
    if not profile.is_cpu or not 0 < len(points) <= MOST or not profile.denormals:
        return None
    if is_overridden() or (call is not None and (call.kernels_only or call.timed)):
        return None
    if points.dtype == np.float64 and not profile.fp64:
        return None
    numbers = _outer(points) if len(points) >= LEAST_FILTERED else None
    if numbers is None:
        if len(points) >= LEAST_FILTERED:
            return None
        rows = [(x, y, at) for at, (x, y) in enumerate(points.tolist())]
        if not math.isfinite(sum([x + y for x, y, _ in rows])):
            return None
    else:
        if len(numbers) > MOST_IN_CHAIN:
            return numbers, None
        rows = [(x, y, at) for (x, y), at in zip(points[numbers].tolist(), numbers.tolist())]
    rows.sort()
    return _chains(rows, keep_collinear)


def _outer(points: np.ndarray) -> np.ndarray | None:
    """Return the numbers of points that are not certainly inside the hull; None where points are not finite.

    A point that lies left of all edges of a closed polygon of points is inside their hull, also if rounding took other
    points than the outermost ones.
    """
    across = points.astype(np.float64, copy=False).T
    with np.errstate(all="ignore"):
        ends = points[(DIRECTIONS @ across).argmax(1)]
        corners = list(dict.fromkeys(map(tuple, ends.tolist())))
        xs, ys = zip(*corners)
        if not math.isfinite(sum(xs) + sum(ys)):  # or so large that they are for kernels
            return None
        error = 32 * THETA * max(map(abs, xs)) * max(map(abs, ys)) + UNDERFLOW  # of rounding, here and below
        edges, least = [], []
        ax, ay = corners[-1]
        for bx, by in corners:
            left, ahead = ay - by, bx - ax
            edges.append((left, ahead))
            least.append((left * ax + ahead * ay + error,))
            ax, ay = bx, by
        inside = (np.array(edges) @ across > np.array(least)).all(0)
    return np.logical_not(inside).nonzero()[0]  # NaN, where something overflowed, tells nothing


def _chains(rows: list[Row], keep_collinear: bool) -> tuple[np.ndarray, int]:
    """(vertices, dimension) of the hull of points in lexicographic order; of equal ones the first counts."""
    first, last, end = rows[0], rows[-1], len(rows) - 1
    (ax, ay, _), (bx, by, _) = first, last
    while end > 0 and rows[end - 1][0] == bx and rows[end - 1][1] == by:
        end -= 1
        last = rows[end]
    if end == 0:
        return np.array([first[2]], np.int64), 0
    below, above, on = [first], [first], [first]
    px, py = ax, ay
    for row in rows[1:end]:
        cx, cy, _ = row
        if cx == px and cy == py:
            continue
        px, py = cx, cy
        left, right = (ax - cx) * (by - cy), (ay - cy) * (bx - cx)
        side, error = left - right, THETA * abs(left + right) + UNDERFLOW
        if not (side > error or side < -error):  # also where something overflowed
            side = orientation((ax, ay), (bx, by), (cx, cy))
        (above if side > 0 else below if side < 0 else on).append(row)
    on.append(last)
    if len(below) == len(above) == 1:
        return np.array([at for _, _, at in (on if keep_collinear else (first, last))], np.int64), 1
    straight = on if keep_collinear else [first, last]
    lower = _chain([*below, last], keep_collinear) if len(below) > 1 else straight
    upper = _chain([last, *above[:0:-1], first], keep_collinear) if len(above) > 1 else straight[::-1]
    return np.array([at for _, _, at in (*lower, *upper[1:-1])], np.int64), 2


def _chain(rows: list[Row], keep_collinear: bool) -> list[Row]:
    """Return the points from the first to the last one, between which the chain turns left."""
    chain = rows[:2]
    (ax, ay, _), (bx, by, _) = chain
    for row in rows[2:]:
        cx, cy, _ = row
        while True:
            left, right = (ax - cx) * (by - cy), (ay - cy) * (bx - cx)
            turn, error = left - right, THETA * abs(left + right) + UNDERFLOW
            if turn > error:
                break
            if not turn < -error:
                turn = orientation((ax, ay), (bx, by), (cx, cy))
                if turn > 0 or (keep_collinear and turn == 0):
                    break
            chain.pop()
            bx, by = ax, ay
            if len(chain) == 1:
                break
            ax, ay, _ = chain[-2]
        chain.append(row)
        ax, ay, bx, by = bx, by, cx, cy
    return chain
